// This file computes figures from a result's step and memory, each with the range that follows from
// theirs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result/experiment.h"
#include "core/result/result.h"

namespace trainyard {

/// Prints tokens or samples per second with three digits, or all digits of the whole number if
/// those are more.
std::string readable_rate(double per_second);

/// Returns whether the figure has a range at all.
template <class T>
bool has_band(const Banded<T>& figure) {
  return figure.low < figure.high;
}

/// Returns tokens (samples for a model without tokens) per second on all devices together; 0 where
/// the step is 0.
Banded<double> rate(const Result&);
/// Returns the same of one device.
Banded<double> rate_per_device(const Result&);
/// Returns in sentences what samples of documents consist of, how many useful tokens a second come
/// of them, and how wide microbatches are where that is open; empty where a sample is one text, or
/// without a step.
std::vector<std::string> document_sentences(const Result&);
/// Returns model FLOPs over the dense peak, in (0, 1].
Banded<double> utilisation(const Result&);
/// Returns where the step of each pipeline rank went, in order, including what its allocator loses:
/// the parts of Result::device_time.
std::vector<Breakdown> rank_breakdowns(const Experiment&);
/// Returns the number of tokens, or samples, that money is stated for.
inline double priced_work(bool counts_tokens) { return counts_tokens ? 1e9 : 1e6; }
/// Returns US dollars for a billion tokens, or for a million samples of a model without tokens;
/// empty without a price.
std::optional<Banded<double>> money_for_work(const Result&);
/// Returns kilograms of CO2 equivalents of a step; empty without an energy or a region.
std::optional<Banded<double>> carbon(const Result&);
/// Returns the energy of a step by what its devices do; empty where no energy is known.
std::optional<EnergyParts> energy_parts(const Result&);
/// Returns the memory reserved on the fullest device.
Bytes reserved(const Result&);
/// Returns the device with the highest peak or, where kinds of devices differ, the one with the
/// least room at its peak; null where no memory is known.
const StageMemory* fullest(const Result&);
/// Returns the memory of the device at a pipeline rank.
Bytes capacity_of(const Result&, DeviceId);

}  // namespace trainyard
