"""Print the first host of a Slurm node list, as helper scripts commonly do."""

import re
import sys

head, bracket, rest = sys.argv[1].partition("[")
numbers = []
for part in rest.partition("]")[0].split(",") if bracket else []:
    first, _, last = part.partition("-")
    numbers += [f"{n:0{len(first)}}" for n in range(int(first), int(last or first) + 1)]
hosts = [head + number for number in numbers] or re.split(",", head)
print(hosts[0])
