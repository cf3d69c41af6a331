"""Settings of matplotlib that lie about have no effect, and nothing is run for them."""

import subprocess
import sys
from pathlib import Path

import matplotlib as mpl

from sim.draw.raster import png_of
from sim.draw.shapes import Picture, Text
from sim.report.figures import svg_figure
from tests.test_readme import ROOT

RC_FILE = "text.usetex: True\nfont.size: 40\naxes.facecolor: red\nlines.linewidth: 9\n"


def svg_of() -> str:
    with svg_figure(height=1) as (figure, drawn):
        figure.subplots().plot([1, 2], label="a line")
    return drawn[0]


def test_settings_of_the_user_do_not_change_a_picture() -> None:
    picture = Picture(100, 40, (Text(10, 20, "n1", "t", "start"),))
    before = svg_of(), png_of(picture)
    changed = {"font.size": 40, "lines.linewidth": 9, "text.usetex": True, "savefig.dpi": 7}
    with mpl.rc_context(changed):
        assert (svg_of(), png_of(picture)) == before
        assert mpl.rcParams["font.size"] == 40


def test_a_file_of_settings_in_the_current_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(RC_FILE)
    program = """if True:
        import os
        from sim.draw.plain import import_matplotlib
        import_matplotlib()
        import matplotlib
        print(matplotlib.rcParams["text.usetex"], matplotlib.matplotlib_fname() == "matplotlibrc")
        print(os.getcwd())
    """
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == f"False True\n{tmp_path}\n", "matplotlib would have found the file"
