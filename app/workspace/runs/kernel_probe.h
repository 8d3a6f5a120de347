// Probes how the time of one op's kernel on this machine grows with one of its sizes, beside what
// the roofline and a calibration say, for `probe` and the window.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/cost/calibrated.h"
#include "core/cost/width_probe.h"
#include "core/model/op.h"
#include "core/model/sized_op.h"

namespace trainyard {

/// A VariedSize is a size of an op and the widths that it takes, as --vary states them.
struct VariedSize {
  std::string name;
  std::vector<std::int64_t> widths;  // ascending, at least two
};
inline constexpr std::size_t kMostWidths = 512;
/// Reads "n=112..208", "n=64..1024:64" (every 64th), "n=1..1024:x2" (doubled) or "n=64,96,128".
/// Throws Error{InvalidInput} at --vary, which says the forms.
VariedSize varied_size(const std::string& text);
/// Reads "m=256". Throws Error{InvalidInput} at --set.
void add_size(OpSizes&, const std::string& text);

struct ProbeQuestion {
  std::string op = "matmul";
  OpSizes sizes = {};
  VariedSize varied = {"n", {}};
  Pass pass = Pass::Forward;
  int rounds = 31;
  std::string calibration = {};  // as open_measured_prices() reads it; empty = none
  std::uint64_t seed = 1;
  std::stop_token stop = {};
  std::function<void(double)> progress = {};
};

/// Measures on the calling thread and blocks. Throws Error{InvalidInput} for an op or size that
/// there is not, for a calibration of another machine's kernels, and for too few rounds, and
/// Error{Cancelled} when stopped before there are as many rounds as intervals need.
WidthProbe kernel_probe(const ProbeQuestion&);

/// The calibration with the kernels of the probe, in place of those of equal sizes: prices of other
/// shapes then know the steps. A note says that they were measured alone.
Calibration with_probe(Calibration, const WidthProbe&);

/// "forward", "input-gradient" and "weight-gradient", as --pass takes them.
std::string_view pass_word(Pass);
std::optional<Pass> pass_of(std::string_view word);

/// The roofline of a core of this machine: what it takes to start a kernel, and the longer one of
/// its arithmetic and its traffic, in seconds.
double core_roofline(const Work&);

}  // namespace trainyard
