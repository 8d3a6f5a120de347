#include "visualizers/viewmodel/format.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr const char* kMinus = "\u2212";
constexpr const char* kThinSpace = "\u2009";
constexpr const char* kNoNumber = "\u2013";

struct Unit {
  double size;
  const char* text;
  const char* spelled;
};

constexpr std::array<Unit, 6> kBytes = {{{1, "B", "bytes"},
                                         {1024.0, "KiB", "kibibytes"},
                                         {1048576.0, "MiB", "mebibytes"},
                                         {1073741824.0, "GiB", "gibibytes"},
                                         {1099511627776.0, "TiB", "tebibytes"},
                                         {1125899906842624.0, "PiB", "pebibytes"}}};
constexpr std::array<Unit, 6> kSiBytes = {{{1, "B", "bytes"},
                                           {1e3, "kB", "kilobytes"},
                                           {1e6, "MB", "megabytes"},
                                           {1e9, "GB", "gigabytes"},
                                           {1e12, "TB", "terabytes"},
                                           {1e15, "PB", "petabytes"}}};
// Views are drawn on more than one thread.
std::atomic<NumberStyle> number_style = NumberStyle::Usual;

constexpr std::array<Unit, 4> kTimes = {{{1, "ns", "nanoseconds"},
                                         {1e3, "\u00B5s", "microseconds"},
                                         {1e6, "ms", "milliseconds"},
                                         {1e9, "s", "seconds"}}};
constexpr std::array<Unit, 5> kBandwidths = {
    {{1, "B/s", ""}, {1e3, "kB/s", ""}, {1e6, "MB/s", ""}, {1e9, "GB/s", ""}, {1e12, "TB/s", ""}}};
constexpr std::array<Unit, 7> kFlops = {{{1, "FLOP", ""},
                                         {1e3, "kFLOP", ""},
                                         {1e6, "MFLOP", ""},
                                         {1e9, "GFLOP", ""},
                                         {1e12, "TFLOP", ""},
                                         {1e15, "PFLOP", ""},
                                         {1e18, "EFLOP", ""}}};
constexpr std::array<Unit, 5> kLarge = {{{1, "", ""},
                                         {1e3, "K", "thousand"},
                                         {1e6, "M", "million"},
                                         {1e9, "B", "billion"},
                                         {1e12, "T", "trillion"}}};

std::string fixed(double value, int decimals) {
  char digits[400];
  std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
  return digits;
}

// Three significant digits: "7.99", "71.7", "569", "81559".
std::string three_digits(double value) {
  if (value >= 99.95) return fixed(value, 0);
  return fixed(value, value >= 9.995 ? 1 : 2);
}

// The largest unit of which there is at least one after rounding, so that 999.9 ms is "1.00 s".
const Unit& unit_for(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units)
    if (value >= 0.9995 * unit.size) best = &unit;
  return *best;
}

std::string digits_in(double value, const Unit& unit) {
  const double in_unit = value / unit.size;
  const bool whole = unit.size == 1 && in_unit == std::floor(in_unit);
  return whole ? fixed(in_unit, 0) : three_digits(in_unit);
}

std::string with_unit(double value, std::span<const Unit> units) {
  if (std::isnan(value)) return kNoNumber;
  const double size = std::fabs(value);
  const Unit& unit = unit_for(size, units);
  const std::string name = unit.text[0] == '\0' ? "" : std::string(" ") + unit.text;
  return (value < 0 ? kMinus : "") + digits_in(size, unit) + name;
}

std::string spelled(double value, std::span<const Unit> units) {
  if (std::isnan(value)) return "unknown";
  const double size = std::fabs(value);
  const Unit& unit = unit_for(size, units);
  const std::string name = unit.spelled[0] == '\0' ? "" : std::string(" ") + unit.spelled;
  return (value < 0 ? "minus " : "") + digits_in(size, unit) + name;
}

// A text of core/base/units_text with the signs of the screen: a true minus, "µs".
std::string on_screen(std::string text) {
  if (text.front() == '-') text.replace(0, 1, kMinus);
  if (text.ends_with(" us")) text.replace(text.size() - 2, 1, "\u00B5");
  return text;
}

// Tenths of a percent, rounded; 0 for a rounding remainder so that there is no "minus 0.0".
std::string tenths(double fraction) { return fixed(std::fabs(fraction) * 100, 1); }
bool is_negative(double fraction) { return fraction < 0 && tenths(fraction) != "0.0"; }

// Three digits, thin spaces from a thousand on.
std::string plain_number(double value) {
  return value >= 999.5 ? format_count(std::llround(value)) : three_digits(value);
}

// Low and high in the unit in which the value is told.
template <class Digits>
BandText in_one_unit(std::string value, double low, double high, const Digits& digits) {
  if (!(low < high)) return {std::move(value), ""};
  const auto signed_digits = [&](double n) { return (n < 0 ? kMinus : "") + digits(std::fabs(n)); };
  return {std::move(value), signed_digits(low) + " to " + signed_digits(high)};
}

}  // namespace

BandText band_text(const Banded<Duration>& time) {
  const double size = unit_for(std::fabs(static_cast<double>(time.value.count())), kTimes).size;
  return in_one_unit(format_step_time(time.value), static_cast<double>(time.low.count()) / size,
                     static_cast<double>(time.high.count()) / size, three_digits);
}

BandText band_text(const Banded<Bytes>& bytes) {
  const double value = std::fabs(static_cast<double>(bytes.value.value));
  if (number_style == NumberStyle::Exact)
    return in_one_unit(format_bytes(bytes.value), static_cast<double>(bytes.low.value),
                       static_cast<double>(bytes.high.value),
                       [](double n) { return format_count(std::llround(n)); });
  if (number_style == NumberStyle::Si) {
    const double unit = unit_for(value, kSiBytes).size;
    return in_one_unit(format_bytes(bytes.value), static_cast<double>(bytes.low.value) / unit,
                       static_cast<double>(bytes.high.value) / unit, three_digits);
  }
  const double size = unit_for(value, kBytes).size;
  return in_one_unit(format_bytes(bytes.value), static_cast<double>(bytes.low.value) / size,
                     static_cast<double>(bytes.high.value) / size, three_digits);
}

BandText band_text(const Banded<Joules>& energy) {
  constexpr double kWattHour = 3600;
  // A hundredth of a watt-hour is the least that is read in them: steps of small models take less.
  if (const double joules = energy.value.value; joules > 0 && joules < kWattHour / 100) {
    constexpr std::array<const char*, 3> kSmall = {" J", " mJ", " \u00B5J"};
    std::size_t small = 0;
    double share = 1;
    while (small + 1 < kSmall.size() && joules < 0.9995 * share) share /= 1000, ++small;
    return in_one_unit(three_digits(joules / share) + kSmall[small], energy.low.value / share,
                       energy.high.value / share, three_digits);
  }
  constexpr std::array<const char*, 4> kUnits = {" Wh", " kWh", " MWh", " GWh"};
  std::size_t unit = 0;
  double size = kWattHour;
  while (unit + 1 < kUnits.size() && energy.value.value >= 999.5 * size) size *= 1000, ++unit;
  return in_one_unit(three_digits(energy.value.value / size) + kUnits[unit],
                     energy.low.value / size, energy.high.value / size, three_digits);
}

BandText carbon_text(const Banded<double>& kilograms) {
  constexpr double kMilligram = 1e-6;  // in kilograms
  constexpr std::array<const char*, 6> kUnits = {" mg CO2e", " g CO2e",  " kg CO2e",
                                                 " t CO2e",  " kt CO2e", " Mt CO2e"};
  std::size_t unit = 0;
  double size = kMilligram;
  while (unit + 1 < kUnits.size() && kilograms.value >= 999.5 * size) size *= 1000, ++unit;
  return in_one_unit(three_digits(kilograms.value / size) + kUnits[unit], kilograms.low / size,
                     kilograms.high / size, three_digits);
}

BandText band_percent(const Banded<double>& share) {
  return in_one_unit(format_percent(share.value), share.low, share.high, tenths);
}

BandText band_number(const Banded<double>& number, const char* unit) {
  if (std::string_view(unit) == "$") {
    const double size = std::fabs(number.value);
    const bool large = size >= 999.5e3, larger = size >= 999.5e6;
    const double of = larger ? 1e9 : large ? 1e6 : 1;
    return in_one_unit((number.value < 0 ? kMinus : "") + ("$" + plain_number(size / of)) +
                           (larger  ? " B"
                            : large ? " M"
                                    : ""),
                       number.low / of, number.high / of, plain_number);
  }
  return in_one_unit(plain_number(number.value) + (*unit == '\0' ? "" : std::string(" ") + unit),
                     number.low, number.high, plain_number);
}

void use_number_style(NumberStyle style) { number_style = style; }

std::string format_bytes(Bytes b) {
  if (number_style == NumberStyle::Exact) return format_count(b.value) + " B";
  if (number_style == NumberStyle::Si) return with_unit(static_cast<double>(b.value), kSiBytes);
  return on_screen(readable(b));
}

std::string format_duration(Duration d) { return on_screen(readable(d)); }

std::string format_step_time(Duration d) { return on_screen(readable_step(d)); }

std::string format_percent(double fraction) {
  return std::isnan(fraction) ? kNoNumber : on_screen(readable_share(fraction));
}

std::string format_bandwidth(BytesPerSecond b) { return with_unit(b.value, kBandwidths); }
std::string format_flops(Flops f) { return with_unit(f.value, kFlops); }
std::string format_throughput(FlopsPerSecond f) {
  return std::isnan(f.value) ? kNoNumber : with_unit(f.value, kFlops) + "/s";
}

std::string format_count(std::int64_t n) {
  std::string digits =
      std::to_string(n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n));
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, kThinSpace);
  return (n < 0 ? kMinus : "") + digits;
}

std::string format_large(double value) { return with_unit(value, kLarge); }

std::string loss_text(double loss) {
  if (std::isnan(loss)) return "no number";
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.4g", loss);
  return digits;
}

std::string format_intensity(double value) {
  char digits[32];
  if (value >= 1e5) return format_large(value);
  if (value >= 10) return format_count(std::llround(value));
  std::snprintf(digits, sizeof digits, "%.2g", value);
  return digits;
}

std::string format_signed(double value, int decimals) {
  if (std::isnan(value)) return kNoNumber;
  const std::string digits = fixed(std::fabs(value), decimals);
  if (digits.find_first_of("123456789") == std::string::npos) return "\u00B10";
  return (value < 0 ? kMinus : "+") + digits;
}

std::string format_signed_percent(double share) {
  const std::string size = format_percent(std::abs(share));
  if (size == format_percent(0)) return "\u00B1" + size;
  return (share < 0 ? kMinus : "+") + size;
}

std::string spell_bytes(Bytes b) {
  if (number_style == NumberStyle::Exact) return std::to_string(b.value) + " bytes";
  return number_style == NumberStyle::Si ? spelled(static_cast<double>(b.value), kSiBytes)
                                         : spelled(static_cast<double>(b.value), kBytes);
}
std::string spell_duration(Duration d) { return spelled(static_cast<double>(d.count()), kTimes); }
std::string spell_percent(double fraction) {
  if (std::isnan(fraction)) return "unknown";
  return (is_negative(fraction) ? "minus " : "") + tenths(fraction) + " percent";
}
std::string spell_large(double value) { return spelled(value, kLarge); }

}  // namespace trainyard
