//! Sees to it that no processor is in the midst of delivering a packet.
//!
//! A packet over the loopback is delivered by the processor on which it was sent,
//! in the kernel, and what waits there is counted. What is being delivered at this
//! moment is not: a processor of a virtual machine can stand still for
//! milliseconds in the midst of it, while every thread sleeps. But no thread gets
//! a processor before it is through (where the kernel is not one for real-time work,
//! which can put it off). So to have run on each of them proves that
//! whatever was being delivered then has reached its socket, or is counted again.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors of this thread.
pub(crate) struct Processors(CpuSet);

impl Processors {
    /// Those that this thread may use; what it traces may use no others. None
    /// where that is not known.
    pub(crate) fn own() -> Option<Self> {
        sched_getaffinity(None).ok().map(Self)
    }

    /// Runs on each of them in turn. Tells whether it has.
    pub(crate) fn visit(&self) -> bool {
        let each = (0..CpuSet::MAX_CPU).filter(|cpu| self.0.is_set(*cpu));
        let visited = each.map(|cpu| {
            let mut only = CpuSet::new();
            only.set(cpu);
            sched_setaffinity(None, &only)
        });
        let all = visited.fold(true, |all, one| all & one.is_ok());
        all & sched_setaffinity(None, &self.0).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_goes_everywhere_and_leaves_the_thread_where_it_may_be() {
        let processors = Processors::own().unwrap();
        assert!(processors.visit());
        assert!(sched_getaffinity(None).unwrap() == processors.0);
    }
}
