"""What was written before stays until the new is written as a whole."""

from pathlib import Path

import pytest
from tests.studies.made_runs import many

from maxentry.errors import StorageError
from maxentry.studies import drawing, figures, outputs, page
from maxentry.studies.whole import whole


def test_a_writer_that_is_stopped_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    for text in ("first", "second"):
        with whole(path) as part:
            part.write_text(text)
        assert path.read_text() == text
    with pytest.raises(KeyboardInterrupt):
        _stopped_while_writing(path)
    assert path.read_text() == "second"
    assert list(path.parent.iterdir()) == [path]


def _stopped_while_writing(path: Path) -> None:
    with whole(path) as part:
        part.write_text("thi")
        raise KeyboardInterrupt


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StorageError, match=r"expected to write .*a.txt, but: (Not a directory|File exists)"),
        whole(tmp_path / "file" / "a.txt") as part,
    ):
        part.write_text("")


def test_reports_are_never_torn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file of a report is written through `whole`: stopped there, the old one is as it was."""
    pytest.importorskip("matplotlib")
    runs = [*many("uniform", 0.8, replicates=2), *many("predictive_variance", 0.7, replicates=2)]
    first = outputs.compare(runs, tmp_path, "predictive_variance", "One.")
    old = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert {path.suffix for path in (*first.figures, first.page, first.tables)} == {
        ".png",
        ".pdf",
        ".html",
        ".md",
    }

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    writers = (
        lambda: figures.compare_figure(runs[:2], tmp_path / "curves"),
        lambda: page.write("other", first.page),
        lambda: outputs._written(tmp_path, [], "other", first.raw, ""),
    )
    for module in (drawing, page, outputs):
        monkeypatch.setattr(module.whole.__globals__["os"], "replace", stopped)
    for write in writers:
        with pytest.raises(KeyboardInterrupt):
            write()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == old
