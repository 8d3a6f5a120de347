#include <string>
#include <utility>

#include "visualizers/chart/joined_rows.h"
#include "visualizers/memory/memory_view.h"

namespace trainyard {
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
  JoinedRows offsets;
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

}  // namespace trainyard
