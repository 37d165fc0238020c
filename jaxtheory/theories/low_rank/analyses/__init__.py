"""Analyses of trained parameters: attention and its heads, removed neurons, ranks and truncation.

They include the classes that neurons belong to.
"""

from jaxtheory.theories.low_rank.analyses import attention as attention
from jaxtheory.theories.low_rank.analyses import neurons as neurons
from jaxtheory.theories.low_rank.analyses import pruning as pruning
from jaxtheory.theories.low_rank.analyses import ranks as ranks
