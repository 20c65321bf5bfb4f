"""Numbers of the system calls that the sandbox names, for the two architectures that it supports.

Source: the kernel's tables, `arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h`
(Linux 6.1). The kernel never changes a number once it is assigned.
"""

from __future__ import annotations

import platform

_TABLE = """
read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 close:3:57 close_range:436:436 fstat:5:80
stat:4: lstat:6: newfstatat:262:79 statx:332:291 lseek:8:62 mmap:9:222 mprotect:10:226 munmap:11:215 mremap:25:216
brk:12:214 madvise:28:233 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigtimedwait:128:137
sigaltstack:131:132 access:21: faccessat:269:48 faccessat2:439:439 pipe:22: pipe2:293:59 select:23: pselect6:270:72
poll:7: ppoll:271:73 epoll_create1:291:20 epoll_ctl:233:21 epoll_wait:232: epoll_pwait:281:22 eventfd2:290:19
dup:32:23 dup2:33: dup3:292:24 fcntl:72:25 flock:73:32 fsync:74:82 fdatasync:75:83 ftruncate:77:46 getdents64:217:61
getcwd:79:17 chdir:80:49 fchdir:81:50 rename:82: renameat:264:38 renameat2:316:276 mkdir:83: mkdirat:258:34 rmdir:84:
unlink:87: unlinkat:263:35 umask:95:166 open:2: openat:257:56 creat:85: statfs:137:43 fstatfs:138:44 sendfile:40:71
copy_file_range:326:285 gettimeofday:96:169 time:201: clock_gettime:228:113 clock_getres:229:114 times:100:153
getrusage:98:165 getrlimit:97:163 sysinfo:99:179 uname:63:160 nanosleep:35:101 clock_nanosleep:230:115 alarm:37:
setitimer:38:103 getitimer:36:102 pause:34: getpid:39:172 gettid:186:178 getppid:110:173 getuid:102:174 getgid:104:176
geteuid:107:175 getegid:108:177 getgroups:115:158 getpgrp:111: getpgid:121:155 getsid:124:156 getresuid:118:148
getresgid:120:150 getpriority:140:141 sched_yield:24:124 sched_getaffinity:204:123 sched_getparam:143:121
sched_getscheduler:145:120 arch_prctl:158: set_tid_address:218:96 set_robust_list:273:99 futex:202:98 rseq:334:293
membarrier:324:283 restart_syscall:219:128 getrandom:318:278 exit:60:93 exit_group:231:94 shutdown:48:210
recvfrom:45:207 truncate:76:45 readlink:89: readlinkat:267:78 symlink:88: symlinkat:266:36 link:86: linkat:265:37
chmod:90: fchmod:91:52 fchmodat:268:53 utimensat:280:88 kill:62:129 tgkill:234:131 tkill:200:130 ioctl:16:29
clone:56:220 clone3:435:435 socketpair:53:199 sendto:44:206 prlimit64:302:261 prctl:157:167 ptrace:101:117
process_vm_readv:310:270 process_vm_writev:311:271 mount:165:40 umount2:166:39 pivot_root:155:41 move_mount:429:429
open_tree:428:428 mount_setattr:442:442 fsopen:430:430 fsmount:432:432 chroot:161:51 unshare:272:97 setns:308:268
bpf:321:280 keyctl:250:219 add_key:248:217 request_key:249:218 init_module:175:105 finit_module:313:273
kexec_load:246:104 open_by_handle_at:304:265 perf_event_open:298:241 userfaultfd:323:282 io_uring_setup:425:425
io_uring_enter:426:426 io_uring_register:427:427 reboot:169:142 swapon:167:224 swapoff:168:225 acct:163:89
kcmp:312:272 quotactl:179:60 pidfd_getfd:438:438 iopl:172: ioperm:173: personality:135:92 capset:126:91 socket:41:198
memfd_create:319:279 memfd_secret:447:447 shmget:29:194 msgget:68:186 semget:64:190 mq_open:240:180
landlock_create_ruleset:444:444 landlock_add_rule:445:445 landlock_restrict_self:446:446
"""
"""`name:x86_64:aarch64`; the number is empty if the architecture has no such call."""

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The numbers by which seccomp identifies architectures (`linux/audit.h`)."""


def numbers(machine: str | None = None) -> dict[str, int]:
    """Call numbers by name.

    Args:
        machine: the architecture; the default is this machine's.

    Raises:
        LookupError: for an unsupported architecture.
    """
    machine = machine or platform.machine()
    if machine not in AUDIT_ARCH:
        raise LookupError(f"The sandbox knows x86_64 and aarch64, not {machine}.")
    column = 1 + list(AUDIT_ARCH).index(machine)
    rows = [row.split(":") for row in _TABLE.split()]
    return {row[0]: int(row[column]) for row in rows if row[column]}
