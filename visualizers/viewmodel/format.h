// Numbers as people read them on the screen: three significant digits, one unit, a true minus sign,
// and the same spelled out for a screen reader. The digits of memory, times and shares are those of
// core/base/units_text, which files and the command line use: one figure reads alike everywhere.
#pragma once

#include <string>

#include "core/base/banded.h"
#include "core/base/units.h"

namespace trainyard {

/// How memory is written, here and in everything made from it.
enum class NumberStyle { Usual, Si, Exact };  // "71.7 GiB", "77.0 GB", "76 987 000 000 B"
/// For the whole program; a person's choice, read once at the start.
void use_number_style(NumberStyle);

std::string format_bytes(Bytes);         // "71.7 GiB", "33.6 MiB", "512 B", "−0.66 GiB"
std::string format_duration(Duration);   // "282 µs", "130 ms", "4.94 s", "0 s"
std::string format_step_time(Duration);  // seconds to the millisecond from 1 s on: "4.938 s"; else
                                         // like format_duration
std::string format_percent(double fraction);    // 0.347 is "34.7 %"; NaN is "–"
std::string format_bandwidth(BytesPerSecond);   // SI: "369 GB/s"
std::string format_flops(Flops);                // "77.0 TFLOP"
std::string format_throughput(FlopsPerSecond);  // "569 TFLOP/s"
std::string format_count(std::int64_t);         // thin spaces between thousands: "262 144"
std::string format_large(double);               // short scale: "70.6 B"
std::string loss_text(double);                  // "2.303", "6.31e+12", NaN is "no number"
std::string format_intensity(double);           // FLOP per byte: "0.25", "140", "1.20 M"
/// "+1.50", "−0.81": always with its sign; zero is "±0".
std::string format_signed(double, int decimals);
std::string format_signed_percent(double share);  // "+3.8 %", "−0.4 %", "±0.0 %"

/// A figure with its range, both in the figure's unit: "4.938 s (4.59 to 5.28)". The only form in
/// which a range is told.
struct BandText {
  std::string value;  // "4.938 s"
  std::string range;  // "4.59 to 5.28"; empty where low is not below high
  std::string text() const { return range.empty() ? value : value + " (" + range + ")"; }
};
BandText band_text(const Banded<Duration>&);  // as a step time
BandText band_text(const Banded<Bytes>&);
BandText band_text(const Banded<Joules>&);     // "1.23 kWh", "27.5 GWh"
BandText band_percent(const Banded<double>&);  // "37.7 %"
/// Writes kilograms of CO2 equivalents: "9.00 mg CO2e", "137 kg CO2e", "11.4 kt CO2e".
BandText carbon_text(const Banded<double>& kilograms);
BandText band_number(const Banded<double>&, const char* unit);  // "1 038 tokens/s", "$0.42"

std::string spell_bytes(Bytes);              // "71.7 gibibytes"
std::string spell_duration(Duration);        // "282 microseconds"
std::string spell_percent(double fraction);  // "34.7 percent", "minus 3.0 percent"
std::string spell_large(double);             // "70.6 billion"

}  // namespace trainyard
