#include <memory>
#include <string>
#include <vector>

#include "visualizers/chart/joined_rows.h"
#include "visualizers/waves/waves_model.h"

namespace trainyard {

DataTable waves_table(const WavesModel& model) {
  DataTable table{
      "Waves",
      {{"rank", DataUnit::Count}, {"time", DataUnit::Time}, {"total", DataUnit::ByteCount}},
      0,
      {},
      {}};
  table.columns.push_back({"model state", DataUnit::ByteCount});
  for (int w = 0; w < model.waves; ++w)
    table.columns.push_back(
        {model.waves == 1 ? "microbatches" : wave_name(model, w), DataUnit::ByteCount});
  // The model may be gone when cells are asked for.
  struct Samples {
    JoinedRows offsets;
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
