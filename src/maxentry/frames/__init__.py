"""The edge to data frames: pandas, polars and whatever else narwhals reads, none of them required.

Reading gives plain columns (a NumPy array of numbers, or a list of labels); writing gives a native frame of
the kind that came in. Neither pandas nor polars is imported before a frame of that kind is asked for.
"""

from maxentry.frames.cells import is_missing, is_number, listed, object_array
from maxentry.frames.form import Form, as_flags
from maxentry.frames.reading import Long, Wide, index_labels, is_frame, is_long, kind_of, read_long, read_wide
from maxentry.frames.writing import like, long_frame, make_frame, stacked_frame, wide_frame

__all__ = [
    "Form",
    "Long",
    "Wide",
    "as_flags",
    "index_labels",
    "is_frame",
    "is_long",
    "is_missing",
    "is_number",
    "kind_of",
    "like",
    "listed",
    "long_frame",
    "make_frame",
    "object_array",
    "read_long",
    "read_wide",
    "stacked_frame",
    "wide_frame",
]
