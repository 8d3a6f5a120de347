#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "visualizers/tables.h"

namespace trainyard {
namespace {

// Rows of several lists one after the other: which list, and where in it.
struct Offsets {
  std::vector<std::size_t> first;  // of each list; ends with the number of rows

  void add(std::size_t count) { first.push_back((first.empty() ? 0 : first.back()) + count); }
  std::size_t rows() const { return first.empty() ? 0 : first.back(); }
  std::pair<std::size_t, std::size_t> place(std::size_t row) const {
    const auto list =
        static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), row) - first.begin());
    return {list, row - (list == 0 ? 0 : first[list - 1])};
  }
};

}  // namespace

DataTable memory_table(ExperimentPtr experiment) {
  DataTable table{"Memory",
                  {{"rank", DataUnit::Count},
                   {"time", DataUnit::Time},
                   {"total", DataUnit::ByteCount},
                   {"capacity", DataUnit::ByteCount}},
                  0,
                  {},
                  {}};
  for (int c = 0; c < kCategories; ++c)
    table.columns.push_back(
        {std::string(to_string(static_cast<Category>(c))), DataUnit::ByteCount});
  Offsets offsets;
  for (const MemoryWave& wave : experiment->waves) offsets.add(wave.samples.size());
  table.rows = offsets.rows();
  table.item = [offsets](std::size_t row) {
    return Item{ItemKind::Wave, offsets.place(row).first};
  };
  table.cell = [e = std::move(experiment), offsets](std::size_t row,
                                                    std::size_t column) -> DataCell {
    const auto [rank, i] = offsets.place(row);
    const MemoryWave::Sample& sample = e->waves[rank].samples[i];
    if (column == 0) return static_cast<std::int64_t>(rank);
    if (column == 1) return sample.at.count();
    if (column == 2) return total(sample.bytes).value;
    if (column == 3) return e->result.capacity.value;
    return sample.bytes[column - 4].value;
  };
  return table;
}

DataTable waves_table(const WavesModel& model) {
  DataTable table{
      "Waves",
      {{"rank", DataUnit::Count}, {"time", DataUnit::Time}, {"total", DataUnit::ByteCount}},
      0,
      {},
      {}};
  table.columns.push_back({"what stays", DataUnit::ByteCount});
  for (int w = 0; w < model.waves; ++w)
    table.columns.push_back(
        {model.waves == 1 ? "microbatches" : wave_name(model, w), DataUnit::ByteCount});
  // The model may be gone when cells are asked for.
  struct Samples {
    Offsets offsets;
    std::vector<std::int64_t> values;  // time, total, then the parts: one row after the other
  };
  auto samples = std::make_shared<Samples>();
  const std::size_t width = table.columns.size() - 1;
  for (const DeviceWaves& device : model.devices) {
    samples->offsets.add(device.total.at.size());
    for (std::size_t i = 0; i < device.total.at.size(); ++i) {
      samples->values.push_back(device.total.at[i]);
      samples->values.push_back(device.total.value[i]);
      for (std::size_t part = 0; part + 2 < width; ++part)
        samples->values.push_back(part < device.parts.size() ? device.parts[part][i] : 0);
    }
  }
  table.rows = samples->offsets.rows();
  table.cell = [samples, width](std::size_t row, std::size_t column) -> DataCell {
    if (column == 0) return static_cast<std::int64_t>(samples->offsets.place(row).first);
    return samples->values[row * width + column - 1];
  };
  return table;
}

}  // namespace trainyard
