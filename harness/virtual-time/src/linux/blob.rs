//! The code that a traced process runs in place of its vDSO's clock functions.
//!
//! It calls the kernel's own function and adds an offset that lies beside it.
//! The offset is one word, so that it can be read and written whole: seconds in
//! the upper 34 bits, nanoseconds in the lower 30.

#![expect(
    unsafe_code,
    reason = "code for another process is written in assembly and read as bytes"
)]

/// Marks the blob in the image of a forked process.
pub(crate) const MAGIC: u64 = 0x3165_6d69_745f_7476;

/// Where the offset's word lies in the blob.
pub(crate) const OFFSET: usize = 8;

/// Where the address of the kernel's `clock_gettime` lies in the blob.
pub(crate) const ORIGINAL: usize = 16;

/// An offset in the form that the blob reads.
pub(crate) fn pack(offset: u64) -> u64 {
    use crate::timeline::NS;
    (offset / NS) << 30 | (offset % NS)
}

// CPU-time clocks stay as they are: 0xbf3 has the bits of the clocks 0, 1, 4 to
// 9 and 11, and numbers below zero are far above 11. The stack pointer is a
// multiple of 16 at each call. Only registers that a caller saves are changed.
core::arch::global_asm!(
    r#"
    .pushsection .rodata.virtual_time_blob, "a"
    .balign 16
    .globl virtual_time_blob_start, virtual_time_blob_end
    .globl virtual_time_blob_clock_gettime, virtual_time_blob_gettimeofday, virtual_time_blob_time
    .hidden virtual_time_blob_start, virtual_time_blob_end
    .hidden virtual_time_blob_clock_gettime, virtual_time_blob_gettimeofday, virtual_time_blob_time
virtual_time_blob_start:
    .quad 0x31656d69745f7476
virtual_time_blob_offset:
    .quad 0
virtual_time_blob_original:
    .quad 0
    .quad 0
virtual_time_blob_clock_gettime:
    endbr64
    push rdi
    push rsi
    sub rsp, 8
    call [rip + virtual_time_blob_original]
    add rsp, 8
    pop rsi
    pop rdi
    test eax, eax
    jnz 2f
    cmp edi, 11
    ja 2f
    mov ecx, 0xbf3
    bt ecx, edi
    jnc 2f
    mov rcx, [rip + virtual_time_blob_offset]
    mov edx, ecx
    and edx, 0x3fffffff
    shr rcx, 30
    add rcx, [rsi]
    add rdx, [rsi + 8]
    cmp rdx, 1000000000
    jb 1f
    sub rdx, 1000000000
    inc rcx
1:  mov [rsi], rcx
    mov [rsi + 8], rdx
2:  ret
    .balign 16
virtual_time_blob_gettimeofday:
    endbr64
    push rdi
    push rsi
    sub rsp, 24
    xor edi, edi
    mov rsi, rsp
    call virtual_time_blob_clock_gettime
    mov rcx, [rsp]
    mov rax, [rsp + 8]
    add rsp, 24
    pop rsi
    pop rdi
    test rdi, rdi
    jz 3f
    xor edx, edx
    mov r9d, 1000
    div r9
    mov [rdi], rcx
    mov [rdi + 8], rax
3:  test rsi, rsi
    jz 4f
    mov qword ptr [rsi], 0
4:  xor eax, eax
    ret
    .balign 16
virtual_time_blob_time:
    endbr64
    push rdi
    sub rsp, 16
    xor edi, edi
    mov rsi, rsp
    call virtual_time_blob_clock_gettime
    mov rax, [rsp]
    add rsp, 16
    pop rdi
    test rdi, rdi
    jz 5f
    mov [rdi], rax
5:  ret
virtual_time_blob_end:
    .popsection
    "#
);

unsafe extern "C" {
    static virtual_time_blob_start: u8;
    static virtual_time_blob_clock_gettime: u8;
    static virtual_time_blob_gettimeofday: u8;
    static virtual_time_blob_time: u8;
    static virtual_time_blob_end: u8;
}

/// The code, and where its functions begin in it.
pub(crate) struct Blob {
    pub(crate) bytes: &'static [u8],
    pub(crate) clock_gettime: usize,
    pub(crate) gettimeofday: usize,
    pub(crate) time: usize,
}

pub(crate) fn blob() -> Blob {
    let start = &raw const virtual_time_blob_start;
    let from_start = |place: *const u8| place as usize - start as usize;
    let length = from_start(&raw const virtual_time_blob_end);
    Blob {
        // SAFETY: all from the first label to the last is read-only data of this
        // program, written above in one piece.
        bytes: unsafe { std::slice::from_raw_parts(start, length) },
        clock_gettime: from_start(&raw const virtual_time_blob_clock_gettime),
        gettimeofday: from_start(&raw const virtual_time_blob_gettimeofday),
        time: from_start(&raw const virtual_time_blob_time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blob_is_marked_and_its_words_are_where_they_are_written() {
        let blob = blob();
        assert_eq!(blob.bytes[..8], MAGIC.to_ne_bytes());
        assert_eq!(blob.bytes[OFFSET..ORIGINAL + 16], [0; 24]);
        assert_eq!(blob.clock_gettime, ORIGINAL + 16);
        assert!(blob.gettimeofday > blob.clock_gettime && blob.time > blob.gettimeofday);
        assert!(blob.bytes.len() < 512, "{}", blob.bytes.len());
    }

    #[test]
    fn an_offset_is_packed_into_one_word() {
        assert_eq!(pack(0), 0);
        assert_eq!(pack(60_000_000_001), 60 << 30 | 1);
        assert_eq!(pack(999_999_999), 999_999_999);
    }
}
