"""The state of workers that are no cores, such as GPUs: the costs of their kinds, and their chunks.

Each such worker has a *slot* of the application, as a core has. Slots of one device are its *streams*: it holds one chunk for
each, and the transfer of one overlaps the work of another (double buffering, with two streams).
"""

from als.network.state import MAX_ROUTE
from traces.kernels.signatures import Floats, Ints
from traces.kernels.state import State, column

CORE = 0  #: the kind of cores

# Bits of ``Devices.places``:
FIRST_HOST = 1  #: data are on the application's first host
HOST_LINK = 2  #: devices of a host share a link

ROUTE_ROOM = {"route_links": MAX_ROUTE, "route_costs": 2}  #: sizes of the work space of ``Devices``


class DeviceSlots(State, dim="device_slots"):
    """A row for each slot of the application."""

    kind: Ints = column()  # CORE, or the place of its kind in the columns of ``Devices``
    device: Ints = column(fill=-1)  # number of its device; -1: a core
    began_ns: Ints = column()  # begin of its latest chunk, after overhead and messages
    works_ns: Ints = column()  # begin of that chunk's first task
    worked_ns: Ints = column()  # end of its last task
    done_ns: Ints = column()  # end of its transfer out of the device
    # By number of a device:
    link: Ints = column()  # the lowest device that shares its link
    in_link_ns: Ints = column()  # latency of a transfer into it, with that of the route
    out_link_ns: Ints = column()  # the same out of it
    in_task_ns: Floats = column()  # further time of a transfer in, for each task; 0: nothing is transferred
    out_task_ns: Floats = column()  # the same out of it
    free_ns: Ints = column()  # since when it computes nothing
    # By number of the lowest device that shares a link:
    in_free_ns: Ints = column()  # since when nothing is transferred into a device
    out_free_ns: Ints = column()  # since when nothing is transferred out of one


class Devices(State, dim="kinds"):
    """Kinds of workers of an application, by number, and its slots; empty if all are cores."""

    slots: DeviceSlots = column()  # each slot
    streams: Ints = column(constant=True)  # streams of a device
    launch_ns: Ints = column(constant=True)  # time before a chunk's transfer in
    link_ns: Ints = column(constant=True)  # latency of a device's link
    in_ns: Floats = column(constant=True)  # further time of a transfer in, for each task; 0: nothing is transferred
    out_ns: Floats = column(constant=True)  # the same out of the device
    byte_ns: Floats = column(constant=True)  # time of a byte on the link
    places: Ints = column(constant=True)  # where data and links are: FIRST_HOST, HOST_LINK
    spread: Floats = column(constant=True)  # standard deviation of the logarithm of the factor of a task's work
    keys: Ints = column("route_links", saved=False)  # work space: the links of a route
    costs: Floats = column("route_costs", saved=False)  # work space: its latency, ns, and slowdown of a device's link
    on: Ints = column("device_phases", constant=True)  # kinds that take part in a phase, a bit for each; empty: all
    gflop: Floats = column("kind_tasks", constant=True)  # work of each task, kind by kind; empty: as on cores
    asked_ns: Ints = column("device_records", fill=-1)  # request of the chunk that begins with a task, -1 on a core
    ended_ns: Ints = column("device_records", fill=-1)  # end of that chunk, after its transfer out


#: Shared by all applications on cores alone, and never written.
NO_DEVICES = Devices.none()
