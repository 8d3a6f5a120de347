#include "core/cost/access_energy.h"

#include <algorithm>
#include <cstddef>

namespace trainyard {
namespace {

using I = EnergyItem;

constexpr EnergyRow kEnergies[] = {
    {I::Add, "addition", "addition", 0, 0.18, 5},
    {I::Multiply, "multiplication", "multiply", 0, 0.62, 20},
    {I::Registers16, "registers of 16 words", "registers 16", 16, 0.12, 0.34},
    {I::Registers64, "registers of 64 words", "registers 64", 64, 0.23, 0.42},
    {I::Sram4K, "SRAM of 4 K words", "SRAM 4 K", 4096, 8, 26},
    {I::Sram32K, "SRAM of 32 K words", "SRAM 32 K", 32768, 11, 47},
    {I::Dram, "DRAM", "DRAM", 0, 640, 2560},
};

constexpr Tiling kTilings[] = {{"every operand from DRAM", kUntiled},
                               {"tiled for SRAM of 32 K words", kTiledForSram},
                               {"and for registers of 64 words", kTiledForRegisters}};

constexpr int kTabulatedBits = 16;
constexpr double kPicojoule = 1e-12;

std::int64_t pieces(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// A block of rows x columns of one matrix stays in the memory, with a strip of each of the other
// two matrices beside it: capacity >= rows * columns + rows + columns. The matrices that the rows
// and the columns belong to are then streamed once for each block of the other side. Candidates are
// the largest blocks that divide the rows into 1, 2, 3 ... pieces, because a larger number of rows
// in equally many pieces gains nothing.
template <class Words>
double fewest(std::int64_t rows, std::int64_t columns, std::int64_t capacity, const Words& words) {
  double best = words(rows, columns);  // blocks of one element, which always fit
  for (std::int64_t count = 1; count <= rows;) {
    const std::int64_t high = pieces(rows, count);
    const std::int64_t wide = std::min(columns, (capacity - high) / (high + 1));
    if (wide >= 1) best = std::min(best, words(count, pieces(columns, wide)));
    // The next count with a lower block: blocks of high - 1 rows.
    count = high > 1 ? pieces(rows, high - 1) : rows + 1;
  }
  return best;
}

double as_number(std::int64_t count) { return static_cast<double>(count); }

double macs(const Work& work) { return work.flops.value / 2; }

Joules arithmetic_energy(double multiply_adds, DType type) {
  return {multiply_adds * (picojoules(I::Add, type) + picojoules(I::Multiply, type)) * kPicojoule};
}

LevelEnergy access_energy(EnergyItem level, double words, DType type) {
  return {level, {words * picojoules(level, type) * kPicojoule}};
}

constexpr double kOperandsOfMac = 4;

}  // namespace

const std::string_view kEnergyTableSource =
    "tutorial on accelerators for machine learning, 45 nm; other widths are interpolated";

std::span<const Tiling> tilings() { return kTilings; }

std::span<const EnergyRow> energy_table() { return kEnergies; }

const EnergyRow& energy_row(EnergyItem item) { return kEnergies[static_cast<std::size_t>(item)]; }

double picojoules(EnergyItem item, int bits) {
  const double ratio = static_cast<double>(bits) / kTabulatedBits;
  return energy_row(item).integer16 * (item == I::Multiply ? ratio * ratio : ratio);
}

int bits_of(DType type) {
  constexpr int kBitsOfByte = 8, kBitsOfF4 = 4;
  return type == DType::F4 ? kBitsOfF4 : kBitsOfByte * bytes_of(type);
}

double picojoules(EnergyItem item, DType type) {
  if (type == DType::F64) return energy_row(item).float64;
  const double integer = picojoules(item, bits_of(type));
  return type == DType::I64 ? integer : std::min(integer, energy_row(item).float64);
}

double block_words(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t capacity) {
  const double a = as_number(m) * as_number(k), b = as_number(k) * as_number(n),
               c = as_number(m) * as_number(n);
  // The result stays: `a` passes once for each piece of the columns, `b` for each piece of the
  // rows.
  const double keeps_c = fewest(m, n, capacity, [&](std::int64_t of_m, std::int64_t of_n) {
    return a * as_number(of_n) + b * as_number(of_m) + c;
  });
  // A factor stays: sums are written, and read again, for each piece of the inner length.
  const auto sums = [&](std::int64_t of_k) { return c * as_number(2 * of_k - 1); };
  const double keeps_a = fewest(m, k, capacity, [&](std::int64_t of_m, std::int64_t of_k) {
    return a + b * as_number(of_m) + sums(of_k);
  });
  const double keeps_b = fewest(n, k, capacity, [&](std::int64_t of_n, std::int64_t of_k) {
    return b + a * as_number(of_n) + sums(of_k);
  });
  return std::min({keeps_c, keeps_a, keeps_b});
}

Joules WorkEnergy::total() const {
  Joules sum = arithmetic;
  for (const LevelEnergy& level : levels) sum += level.energy;
  return sum;
}

WorkEnergy& WorkEnergy::operator+=(const WorkEnergy& more) {
  arithmetic += more.arithmetic;
  for (std::size_t i = 0; i < more.levels.size(); ++i)
    if (i < levels.size())
      levels[i].energy += more.levels[i].energy;
    else
      levels.push_back(more.levels[i]);
  return *this;
}

WorkEnergy operator*(const WorkEnergy& energy, double count) {
  WorkEnergy result = energy;
  result.arithmetic = result.arithmetic * count;
  for (LevelEnergy& level : result.levels) level.energy = level.energy * count;
  return result;
}

WorkEnergy product_energy(std::int64_t m, std::int64_t n, std::int64_t k, DType type,
                          Hierarchy hierarchy) {
  const double multiply_adds = as_number(m) * as_number(n) * as_number(k);
  WorkEnergy energy{arithmetic_energy(multiply_adds, type), {}};
  for (std::size_t i = 0; i < hierarchy.size(); ++i) {
    const double words = i == 0 ? kOperandsOfMac * multiply_adds
                                : block_words(m, n, k, energy_row(hierarchy[i - 1]).words);
    energy.levels.push_back(access_energy(hierarchy[i], words, type));
  }
  return energy;
}

WorkEnergy work_energy(const Work& work, Hierarchy hierarchy) {
  if (work.kind == WorkKind::Product && work.m > 0 && work.n > 0 && work.k > 0)
    return product_energy(work.m, work.n, work.k, work.math, hierarchy) * as_number(work.count);
  const double words =
      as_number((work.read + work.written).value) * 8 / static_cast<double>(bits_of(work.math));
  const bool products = work.kind == WorkKind::Product || work.kind == WorkKind::Attention;
  constexpr std::int64_t kLarge = 1024;
  WorkEnergy energy{arithmetic_energy(macs(work), work.math), {}};
  for (std::size_t i = 0; i < hierarchy.size(); ++i) {
    const bool outermost = i + 1 == hierarchy.size();
    double moved = words;
    if (products && i == 0 && !outermost) moved = kOperandsOfMac * macs(work);
    if (products && i > 0 && !outermost)
      moved =
          macs(work) * (block_words(kLarge, kLarge, kLarge, energy_row(hierarchy[i - 1]).words) /
                        (as_number(kLarge) * as_number(kLarge) * as_number(kLarge)));
    energy.levels.push_back(access_energy(hierarchy[i], moved, work.math));
  }
  return energy;
}

double dram_share(const WorkEnergy& energy) {
  const double total = energy.total().value;
  double dram = 0;
  for (const LevelEnergy& level : energy.levels)
    if (level.level == I::Dram) dram += level.energy.value;
  return total > 0 ? dram / total : 0;
}

}  // namespace trainyard
