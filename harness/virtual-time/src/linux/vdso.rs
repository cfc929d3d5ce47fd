//! Points a traced process's clock functions at the [blob](crate::linux::blob).
//!
//! Nothing is mapped and no call is injected: the blob goes into the zeroes at
//! the end of the vDSO's image, and the symbols by which programs find the
//! functions are changed to it. The pages are the process's own from then on; a
//! fork copies them, and a new program begins with the kernel's.

use crate::linux::blob::{MAGIC, OFFSET, ORIGINAL, blob, pack};
use crate::linux::memory::Memory;

/// A vDSO with the blob in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vdso {
    from: u64,
    to: u64,
    /// Where the offset's word lies.
    offset: u64,
}

impl Vdso {
    /// Puts the blob into a process that has just become another program. None
    /// when its vDSO is not as it should be; it is unchanged then.
    pub(crate) fn patch(pid: i32, memory: &Memory) -> Option<Self> {
        let (from, to) = range(pid)?;
        let image = Image(memory.read_vec(from, usize::try_from(to - from).ok()?)?);
        let blob = blob();
        let place = image.room_for(blob.bytes.len())?;
        let symbols = image.symbols()?;
        let (_, original) = *symbols.iter().find(|(name, _)| name == "clock_gettime")?;
        let original = from + image.word(original)?;
        let mut bytes = blob.bytes.to_vec();
        bytes[ORIGINAL..][..8].copy_from_slice(&original.to_ne_bytes());
        memory.write(from + place as u64, &bytes)?;
        for (name, value) in symbols {
            let function = match name.as_str() {
                "clock_gettime" => blob.clock_gettime,
                "gettimeofday" => blob.gettimeofday,
                _ => blob.time,
            };
            let new = (place + function) as u64;
            memory.write(from + value as u64, &new.to_ne_bytes())?;
        }
        let offset = from + (place + OFFSET) as u64;
        Some(Self { from, to, offset })
    }

    /// Finds the blob that a process has from the one that it was forked from.
    pub(crate) fn find(pid: i32, memory: &Memory) -> Option<Self> {
        let (from, to) = range(pid)?;
        let image = memory.read_vec(from, usize::try_from(to - from).ok()?)?;
        let mut words = image.chunks_exact(8);
        let place = words.position(|word| word == MAGIC.to_ne_bytes())? * 8;
        let offset = from + (place + OFFSET) as u64;
        Some(Self { from, to, offset })
    }

    /// Tells the process how far its time is ahead.
    pub(crate) fn set_offset(&self, memory: &Memory, offset: u64) -> Option<()> {
        memory.write(self.offset, &pack(offset).to_ne_bytes())
    }

    /// Whether code at this address is the vDSO's.
    pub(crate) fn contains(&self, address: u64) -> bool {
        (self.from..self.to).contains(&address)
    }
}

/// Takes the vDSO's address from what a new program finds on its stack, so that
/// every clock read is a system call. The stack pointer is that of its start.
pub(crate) fn hide(memory: &Memory, stack_pointer: u64) -> Option<()> {
    const IGNORED: u64 = 1; // AT_IGNORE
    let mut at = stack_pointer + 8 * (memory.word(stack_pointer)? + 2);
    // The environment ends with a null; the auxiliary values follow.
    while memory.word(at)? != 0 {
        at += 8;
    }
    at += 8;
    loop {
        match memory.word(at)? {
            0 => return Some(()),
            libc::AT_SYSINFO_EHDR => return memory.write(at, &IGNORED.to_ne_bytes()),
            _ => at += 16,
        }
    }
}

fn range(pid: i32) -> Option<(u64, u64)> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (from, to) = line.split_whitespace().next()?.split_once('-')?;
    let number = |word| u64::from_str_radix(word, 16).ok();
    Some((number(from)?, number(to)?)).filter(|(from, to)| from < to)
}

/// A 64-bit ELF image as it lies in memory. Nothing in it is taken on trust.
struct Image(Vec<u8>);

impl Image {
    /// Where so many bytes fit at the image's end: all zero, and some more
    /// before them, in case that what is there ends with zeroes.
    fn room_for(&self, length: usize) -> Option<usize> {
        const BEFORE: usize = 32;
        let place = self.0.len().checked_sub(length + BEFORE)? & !15;
        let is_free = self.0[place.checked_sub(BEFORE)?..]
            .iter()
            .all(|byte| *byte == 0);
        is_free.then_some(place)
    }

    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn word(&self, at: usize) -> Option<u64> {
        self.bytes(at).map(u64::from_le_bytes)
    }

    fn half(&self, at: usize) -> Option<usize> {
        self.bytes(at).map(u32::from_le_bytes)?.try_into().ok()
    }

    fn quarter(&self, at: usize) -> Option<usize> {
        self.bytes(at).map(u16::from_le_bytes).map(usize::from)
    }

    /// The clock functions: their names without `__vdso_`, and where their
    /// symbols' values lie.
    fn symbols(&self) -> Option<Vec<(String, usize)>> {
        const DYNAMIC_SYMBOLS: usize = 11;
        const SYMBOL: usize = 24;
        let place = |at| usize::try_from(self.word(at)?).ok();
        let (headers, size, count) = (place(40)?, self.quarter(58)?, self.quarter(60)?);
        let header = |index: usize| {
            let at = headers.checked_add(index.checked_mul(size)?)?;
            (at < self.0.len()).then_some(at)
        };
        let table = (0..count)
            .filter_map(header)
            .find(|header| self.half(header + 4) == Some(DYNAMIC_SYMBOLS))?;
        let names = place(header(self.half(table + 40)?)? + 24)?;
        let (from, length) = (place(table + 24)?, place(table + 32)?);
        let mut found = Vec::new();
        for symbol in (from..from.checked_add(length)?).step_by(SYMBOL) {
            let name = self.text(names.checked_add(self.half(symbol)?)?)?;
            let name = name.strip_prefix("__vdso_").unwrap_or(name);
            if matches!(name, "clock_gettime" | "gettimeofday" | "time") {
                found.push((name.to_owned(), symbol + 8));
            }
        }
        Some(found)
    }

    fn text(&self, at: usize) -> Option<&str> {
        let bytes = self.0.get(at..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&bytes[..end]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Image {
        let pid = i32::try_from(std::process::id()).unwrap();
        let (from, to) = range(pid).unwrap();
        let memory = Memory::of(pid).unwrap();
        Image(memory.read_vec(from, (to - from) as usize).unwrap())
    }

    #[test]
    fn this_kernels_vdso_has_the_symbols_and_room() {
        let image = own();
        let mut names: Vec<_> = image
            .symbols()
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "clock_gettime",
                "clock_gettime",
                "gettimeofday",
                "gettimeofday",
                "time",
                "time"
            ]
        );
        assert!(image.room_for(blob().bytes.len()).is_some());
    }

    #[test]
    fn an_image_that_is_none_is_refused_without_a_panic() {
        let whole = own().0;
        for length in (0..whole.len()).step_by(97) {
            let _ = Image(whole[..length].to_vec()).symbols();
        }
        for at in 0..4096.min(whole.len()) {
            let mut broken = whole.clone();
            broken[at] = 0xff;
            let _ = Image(broken).symbols();
        }
        assert!(Image(vec![0xff; 8192]).symbols().is_none());
        assert!(Image(vec![0; 100]).room_for(300).is_none());
        assert!(Image(vec![1; 8192]).room_for(300).is_none());
    }
}
