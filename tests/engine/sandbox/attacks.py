"""Ways out of a sandbox. Each prints OPEN if it gets out, and `done` if it gets to its end."""

import platform
from dataclasses import dataclass

from gem.sandbox.inside.confinement.syscalls import numbers

MORE = {
    "x86_64": {"mlock": 149, "inotify_init1": 294, "pidfd_open": 434},
    "aarch64": {"mlock": 228, "inotify_init1": 26, "pidfd_open": 434},
}
CALLS = numbers() | MORE[platform.machine()] | {"x32": 0x40000000 + 39}
SECRET = "GEM_TEST_SECRET"
HELPERS = f"""
import ctypes, fcntl, mmap, os, resource, socket, subprocess
CALLS, SOURCE, STANDARD = {CALLS}, {__file__!r}, os.__file__

def attempt(act):
    try:
        found = act()
    except (OSError, RuntimeError, KeyError, ValueError):
        return
    print("OPEN", str(found)[:80])

def syscall(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    found = libc.syscall(ctypes.c_long(CALLS[name]), *wide)
    if found < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return found

def machine_code(text):
    memory = mmap.mmap(-1, 4096, prot=7)
    memory.write(bytes.fromhex(text))
    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()

def link_to(make, path):
    make(path, "link")
    return open("link").read()
"""


@dataclass(frozen=True)
class Attack:
    """One way, as code."""

    name: str
    code: str
    harmless: bool = True
    """It can be tried without a sandbox, where it must get out: otherwise it would prove nothing."""
    root: bool = False
    """Without a sandbox it gets out only as root."""

    @property
    def program(self) -> str:
        """All of it."""
        return f"{HELPERS}\n{self.code}\nprint('done')\n"


def _at(name: str, act: str, *, harmless: bool = True, root: bool = False) -> Attack:
    """An attack that is one expression."""
    return Attack(name, f"attempt(lambda: {act})", harmless, root)


FILES = [
    _at("read a file of the host", "open('/etc/passwd').read()"),
    _at("read the site's own source", "open(SOURCE).read()"),
    Attack("list directories", "for path in ('/', '/etc', '/home', '/var', '/usr'): attempt(lambda: os.listdir(path))"),
    _at("read through ..", "open('../../../../../../../../etc/passwd').read()"),
    _at("read through a symbolic link", "link_to(os.symlink, '/etc/passwd')"),
    _at("read through a hard link", "link_to(os.link, '/etc/passwd')", harmless=False),
    _at("write a file on the host", "open('/var/tmp/gem-escape', 'w').write('x')"),
    _at("write beside the packages", "open(os.path.dirname(STANDARD) + '/gem_escape', 'w')", harmless=False),
    _at("empty a file of the packages", "os.truncate(STANDARD, 0)", harmless=False),
    _at("empty a file by opening it", "os.open(STANDARD, os.O_RDONLY | os.O_TRUNC)", harmless=False),
    _at("remove a file of the packages", "os.unlink(STANDARD)", harmless=False),
    _at("change the mode of a file", "os.chmod(STANDARD, 0o644)", root=True),
    _at("change the times of a file", "os.utime(STANDARD)", root=True),
    _at("give a file an attribute", "open('own', 'w').close() or os.setxattr('own', 'user.x', b'x')", harmless=False),
    _at("lock a file of the packages", "fcntl.flock(open(STANDARD), fcntl.LOCK_EX | fcntl.LOCK_NB)"),
    _at("watch what happens to files", "syscall('inotify_init1', 0)"),
    _at("make a device", "os.mknod('device', 0o600 | 0o020000, os.makedev(1, 1))", root=True),
    _at("make a queue", "os.mkfifo('queue')"),
    _at("read other processes", "open('/proc/1/cmdline').read()"),
    _at("read its own memory map", "open('/proc/self/maps').read()"),
    _at("read the parent's environment", "open(f'/proc/{os.getppid()}/environ').read()"),
    _at("find the host's secrets in the environment", f"os.environ[{SECRET!r}]"),
    Attack("use a descriptor left open", "for fd in range(3, 4096): attempt(lambda: os.fstat(fd))", harmless=False),
]
NETWORK = [
    _at("open a TCP socket", "socket.socket(socket.AF_INET, socket.SOCK_STREAM)"),
    _at("open a UDP socket", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"),
    _at("open an IPv6 socket", "socket.socket(socket.AF_INET6)"),
    _at("open a unix socket", "socket.socket(socket.AF_UNIX)"),
    _at("open a socket to the hypervisor", "socket.socket(40, socket.SOCK_STREAM)", harmless=False),
    _at("open a netlink socket", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"),
    _at("make a raw system call for a socket", "syscall('socketpair', 2, 1, 0, ctypes.create_string_buffer(8))",
        harmless=False),
]  # fmt: skip
PROCESSES = [
    _at("fork", "os.fork() or os._exit(0)"),
    _at("fork by a raw system call", "syscall('clone', 17, 0, 0, 0, 0) or os._exit(0)"),
    _at("start a program", "subprocess.run(['/bin/sh', '-c', 'exit'], check=True)"),
    _at("become a program", "os.execv('/bin/echo', ['echo', 'OPEN'])"),
    _at("execute from memory", "os.memfd_create('program')"),
    _at("signal another process", "os.kill(os.getppid() or 2**22, 0)"),
    _at(
        "have the kernel signal another process",
        "fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETOWN, os.getppid() or 1)",
    ),
    _at("choose the signal that it sends", "fcntl.fcntl(socket.socketpair()[0], 10, 9)"),
    _at("take hold of another process", "syscall('pidfd_open', os.getppid() or 1, 0)"),
    _at("trace another process", "syscall('ptrace', 16, os.getppid(), 0, 0)", harmless=False),
    _at("read another's memory", "syscall('process_vm_readv', os.getpid(), None, 0, None, 0, 0)"),
    _at("look at another's limits", "resource.prlimit(os.getppid() or 1, resource.RLIMIT_NOFILE)"),
    _at("change its priority", "os.nice(1)"),
    _at("become another user", "os.setuid(1)", root=True),
    _at("raise its own limits", "resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))", harmless=False),
]
KERNEL = [
    _at("make a user namespace", "syscall('unshare', 0x10000000)"),
    _at("make a user namespace with a thread", "syscall('clone', 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0)"),
    _at("mount", "syscall('mount', b'none', b'/tmp', b'tmpfs', 0, None)", harmless=False),
    _at("change the root", "syscall('chroot', b'/')", root=True),
    _at("use io_uring", "syscall('io_uring_setup', 8, ctypes.create_string_buffer(120))"),
    _at("load a program into the kernel", "syscall('bpf', 0, ctypes.create_string_buffer(120), 72)", harmless=False),
    _at("use the kernel's keys", "syscall('keyctl', 0, -3, 1, 0, 0)", harmless=False),
    _at("open a file by its handle", "syscall('open_by_handle_at', 0, ctypes.create_string_buffer(64), 0)",
        harmless=False),
    _at("make shared memory", "syscall('shmget', 0, 4096, 0o1600)"),
    _at("make a pipe as large as it wants", "fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)"),
    _at("watch for page faults", "syscall('userfaultfd', 0)", harmless=False),
    _at("measure the processor", "syscall('perf_event_open', ctypes.create_string_buffer(128), 0, -1, -1, 0)",
        harmless=False),
    _at("take a descriptor of another process", "syscall('pidfd_getfd', 3, 0, 0)", harmless=False),
    _at("make semaphores", "syscall('semget', 0, 1, 0o1600)"),
    _at("make a message queue", "syscall('msgget', 0, 0o1600)"),
    _at("lock memory", "syscall('mlock', ctypes.create_string_buffer(1 << 16), 1 << 16)"),
    _at("type into the terminal", "fcntl.ioctl(0, 0x5412, b'x')", harmless=False),
    _at("use the second numbering of calls", "syscall('x32', 0)", harmless=False),
]  # fmt: skip
if platform.machine() == "x86_64":  # the number 20, by the gate of 32-bit programs, for which it is getpid
    way = "{os.getpid(): 'pid'}[machine_code('b814000000cd80c3')]"
    KERNEL.append(_at("use the system calls of 32-bit programs", way, harmless=False))
ATTACKS = [*FILES, *NETWORK, *PROCESSES, *KERNEL]
