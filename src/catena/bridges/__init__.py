"""Questions as functions of other packages, which then differentiate, batch and compile what is made of them."""
