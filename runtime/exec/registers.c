/* SPDX-License-Identifier: Apache-2.0
 * Lays a rank's registers down and takes them up again, in the section of the workers (worker.h). */
#define _GNU_SOURCE
#include "runtime/exec/worker.h"

__asm__(
    ".pushsection exn_worker, \"ax\", @progbits\n"
    ".globl exn_leave, exn_enter, exn_jump, exn_sigreturn, exn_restorer\n"
    ".hidden exn_leave, exn_enter, exn_jump, exn_sigreturn, exn_restorer\n"
    "exn_leave:\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  sub $8, %rsp\n  stmxcsr (%rsp)\n  fnstcw 4(%rsp)\n"
    "  mov %rsp, (%rdi)\n  mov %rsi, %rsp\n  mov %rcx, %rdi\n  xor %ebp, %ebp\n  call *%rdx\n  ud2\n"
    "exn_enter:\n"
    "  mov %rdi, %rsp\n  ldmxcsr (%rsp)\n  fldcw 4(%rsp)\n  add $8, %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n  ret\n"
    "exn_jump:\n"
    "  mov %rdi, %rsp\n  mov %rdx, %rdi\n  xor %ebp, %ebp\n  call *%rsi\n  ud2\n"
    "exn_sigreturn:\n"
    "  mov %rdi, %rsp\n  mov $15, %eax\n  syscall\n  ud2\n"
    "exn_restorer:\n"
    "  mov $15, %eax\n  syscall\n  ud2\n"
    ".popsection\n"
    ".pushsection .text\n.globl exn_probe\n.hidden exn_probe\n" /* a system call as a rank makes it */
    "exn_probe:\n"
    "  mov %rdi, %rax\n  syscall\n  ret\n"
    ".popsection\n");

__asm__(
    ".pushsection exn_worker, \"ax\", @progbits\n"
    ".globl exn_copy, exn_copy_fails\n.hidden exn_copy, exn_copy_fails\n"
    "exn_copy:\n"
    "  mov %rdx, %rcx\n  rep movsb\n  mov $1, %eax\n  ret\n"
    "exn_copy_fails:\n"
    "  xor %eax, %eax\n  ret\n"
    ".popsection\n");
