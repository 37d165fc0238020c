"""What is looked at in trained parameters: attention and its heads, neurons removed, ranks and
truncation, what neurons speak for.
"""

from jaxtheory.theories.low_rank.analyses import attention as attention
from jaxtheory.theories.low_rank.analyses import neurons as neurons
from jaxtheory.theories.low_rank.analyses import pruning as pruning
from jaxtheory.theories.low_rank.analyses import ranks as ranks
