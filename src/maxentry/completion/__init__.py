"""Point estimates of a partially observed matrix."""

from maxentry.completion.nuclear_norm import PenaltyChoice as PenaltyChoice
from maxentry.completion.nuclear_norm import choose_penalty as choose_penalty
from maxentry.completion.nuclear_norm import largest_penalty as largest_penalty
from maxentry.completion.nuclear_norm import nuclear_norm as nuclear_norm
from maxentry.completion.nuclear_norm import nuclear_norm_path as nuclear_norm_path
from maxentry.completion.nuclear_norm import penalty_path as penalty_path
from maxentry.completion.result import Completion as Completion
from maxentry.completion.result import SolverStatus as SolverStatus

Status = SolverStatus  # its former name
