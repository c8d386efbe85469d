"""`catena identify`: parameters from measured motions and torques."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import click
import numpy as np

from catena.cli import printable
from catena.cli._files import AS_JSON, BASE, MODEL, PACKAGES, busy, read_robot
from catena.errors import LoadError, check_place, writing
from catena.identification.fit import identify
from catena.load import Base
from catena.model.readers.files import Refused, read_regular
from catena.simulation.files import UNREADABLE

ARRAYS = ("q", "v", "a", "tau")
ZIPPED = b"PK"
"""How files of zip begin, which those of numpy.savez are."""


@click.command(
    short_help="Find masses and inertias from measured torques.",
    epilog="Example: catena identify seven_dof_arm measured.npz --out found.npz",
)
@click.argument("file", type=MODEL)
@click.argument("data", type=click.Path())
@BASE
@PACKAGES
@click.option("--out", metavar="FILE", help="Write the parameters found, parameters.vector (.npz).")
@AS_JSON
def command(file: str, data: str, base: Base, roots: tuple[str, ...], out: str | None, as_json: bool) -> None:
    """Find the parameters of the robot in FILE from measurements in DATA.

    DATA is a file of NumPy (.npz) with arrays q (samples, nq), v, a and tau (samples, nv).
    """
    if out is not None:
        check_place(out)
    robot = read_robot(file, base, roots)
    measured = _measured(data)
    with busy("identifying"):
        found = identify(robot, *measured)
    if out is not None:
        _write(out, found.parameters.vector)
    if as_json:
        rms = [float(np.sqrt(np.mean(x**2))) for x in (found.prior_residuals, found.residuals)]
        rows = zip(found.base.names, found.estimate, found.std, found.fitted, found.determined, strict=True)
        told = [
            {"name": n, "estimate": x, "std": s if np.isfinite(s) else None, "fitted": f, "determined": bool(d)}
            for n, x, s, f, d in rows
        ]
        click.echo(json.dumps({"residuals_before": rms[0], "residuals_after": rms[1], "base": told}, indent=2))
    else:
        for line in found.report().splitlines():
            click.echo(printable(line))
        if out is not None:
            click.echo(f"written    {printable(out)}")


def _measured(path: str) -> list[Any]:
    try:
        data = read_regular(path)
        if not data.startswith(ZIPPED):
            found = "an empty file" if not data else "something else"
            raise LoadError(f"{path}: expected arrays in a file of NumPy (.npz), as numpy.savez writes, found {found}")
        with np.load(BytesIO(data), allow_pickle=False) as archive:
            missing = [name for name in ARRAYS if name not in archive.files]
            if missing:
                raise LoadError(f"{path}: expected arrays q, v, a and tau, found no {', '.join(missing)}")
            return [archive[name] for name in ARRAYS]
    except FileNotFoundError:
        raise LoadError(f"{path}: there is no such file") from None
    except Refused as error:
        raise LoadError(f"{path}: {error}") from None
    except UNREADABLE as error:
        raise LoadError(f"{path}: expected arrays in a file of NumPy (.npz): {error}") from None


def _write(path: str, vector: Any) -> None:
    with writing(path), open(path, "wb") as file:
        np.savez(file, parameters=vector)
