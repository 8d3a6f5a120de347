// This file holds the energy of one arithmetic operation and of one access to each level of a
// memory hierarchy, as a tutorial on accelerators for machine learning tabulates them for 45 nm
// logic, and what follows for a product of matrices: arithmetic, and words moved at each level when
// the product is tiled for the level above. These are energies of gates and wires; what a board
// draws is core/result/energy.h.
//
// The tutorial's slide says that data in DRAM costs more than 500 times an addition. That figure is
// of its column for double precision alone (512); its column for 16-bit integers says 3,556.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/model/dtype.h"
#include "core/model/op.h"

namespace trainyard {

enum class EnergyItem : std::uint8_t {
  Add,
  Multiply,
  Registers16,  // a register file of 16 words
  Registers64,
  Sram4K,  // 4,096 words
  Sram32K,
  Dram,
};

/// One row of the table, in picojoules.
struct EnergyRow {
  EnergyItem item = EnergyItem::Add;
  std::string_view name;     // "SRAM of 32 K words"
  std::string_view heading;  // "SRAM 32 K", for a narrow column
  std::int64_t words = 0;    // that the memory holds; 0 of arithmetic and of DRAM
  double integer16 = 0;      // of a 16-bit integer
  double float64 = 0;        // of a number in double precision
};
std::span<const EnergyRow> energy_table();
const EnergyRow& energy_row(EnergyItem);
/// Where the table is from, in one sentence.
extern const std::string_view kEnergyTableSource;

/// Returns picojoules of one operation, or of one access to one word, of an integer of so many bits
/// (at least 1): the 16-bit column, with adders and accesses proportional to the bits and
/// multipliers to their square.
double picojoules(EnergyItem, int bits);
/// Likewise for a number format. F64 has its own column; formats with fewer bits are taken as
/// integers of their width in memory, at most what F64 costs.
double picojoules(EnergyItem, DType);
/// Returns the bits of one element: 4 of F4, else those of its bytes.
int bits_of(DType);

/// Memory hierarchies: levels from the one beside the arithmetic to the one that holds everything,
/// whatever its size in the table. Each of the others must hold more than the one before.
using Hierarchy = std::span<const EnergyItem>;
inline constexpr EnergyItem kUntiled[] = {EnergyItem::Dram};
inline constexpr EnergyItem kTiledForSram[] = {EnergyItem::Sram32K, EnergyItem::Dram};
inline constexpr EnergyItem kTiledForRegisters[] = {EnergyItem::Registers64, EnergyItem::Sram32K,
                                                    EnergyItem::Dram};
inline constexpr EnergyItem kOnChip[] = {EnergyItem::Registers64, EnergyItem::Sram32K};

/// Returns the fewest words that must cross into a memory of `capacity` words (at least 3) and back
/// for a product m x k by k x n. One of the three matrices is kept there block by block while
/// strips of the other two stream past; the best block shape and the best of the three are taken.
double block_words(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t capacity);

/// A hierarchy with the name of what a product is tiled for.
struct Tiling {
  std::string_view name;  // "tiled for SRAM of 32 K words"
  Hierarchy levels;
};
/// From every operand in DRAM to tiles for SRAM and for registers.
std::span<const Tiling> tilings();
/// Elements of a side of the square matrices by whose product tilings are compared.
inline constexpr std::int64_t kTiledSide = 1024;

struct LevelEnergy {
  EnergyItem level = EnergyItem::Dram;
  Joules energy{};
};

/// The energy of some work: of its arithmetic, and of the words read or written at each level of
/// its hierarchy, nearest first.
struct WorkEnergy {
  Joules arithmetic{};
  std::vector<LevelEnergy> levels;
  Joules total() const;
  WorkEnergy& operator+=(const WorkEnergy&);  // of the same hierarchy, or of none
  friend WorkEnergy operator*(const WorkEnergy&, double count);
};
/// Each multiply-add takes a multiplication and an addition, and reads both factors and reads and
/// writes the sum at the nearest level.
WorkEnergy product_energy(std::int64_t m, std::int64_t n, std::int64_t k, DType, Hierarchy);
/// Returns the energy of any work of an op. FLOPs that are no product's are half multiplications
/// and half additions. Fused attention moves its operands through the last level once, and inside
/// the chip is tiled like a large product; all other work moves each byte through every level once.
WorkEnergy work_energy(const Work&, Hierarchy);
/// Returns the share of DRAM in the total, in [0, 1]; 0 where the total is 0.
double dram_share(const WorkEnergy&);

}  // namespace trainyard
