#include "core/validation/recorded/planned_units.h"

#include <utility>

#include "core/model/ops.h"
#include "core/validation/recorded/trace_match.h"

namespace trainyard {
namespace {

class UnitReader {
 public:
  UnitReader(const Workload& workload, const Program& program, const CostModel& base)
      : workload_(workload), program_(program), base_(base) {}

  std::vector<PlannedUnit> of(std::uint32_t device) const {
    std::vector<PlannedUnit> compute, messages;
    for (const Stream& stream : program_.streams) {
      if (stream.device.value != device) continue;
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
        const Task& task = program_.task(InstructionId{i});
        if (task.kind == TaskKind::Compute)
          add_compute(i, task, compute);
        else if (task.kind == TaskKind::Collective)
          for (std::int32_t n = 0; n < task.repeats; ++n) add_collective(task, messages);
      }
    }
    compute.insert(compute.end(), messages.begin(), messages.end());
    return compute;
  }

 private:
  void add_compute(std::uint32_t i, const Task& task, std::vector<PlannedUnit>& into) const {
    PlannedUnit unit;
    const Device& device = workload_.scenario.cluster.device;
    for (std::uint32_t w = task.first_work; w < task.first_work + task.works; ++w) {
      const WorkCount& work = program_.works[w];
      if (nothing(work.work) || work.count == 0) continue;
      unit.predicted += base_.compute(work.work, device) * work.count;
      unit.works.push_back(work);
    }
    if (unit.works.empty()) return;
    unit.op = op_of(unit.works.front().work);
    unit.family = to_string(family_of_work(unit.works.front().work.kind));
    unit.part = part_of(task);
    unit.place = {task.layer, task.node.value, program_.instructions[i].microbatch};
    into.push_back(std::move(unit));
  }

  void add_collective(const Task& task, std::vector<PlannedUnit>& into) const {
    const GroupShape& shape = workload_.groups[static_cast<std::size_t>(task.group)];
    if (shape.ranks <= 1 || task.bytes.value <= 0) return;
    PlannedUnit unit;
    unit.family = unit.op = to_string(KernelFamily::Communication);
    unit.part = StepPart::Communication;
    unit.collective = task.collective, unit.ranks = shape.ranks, unit.bytes = task.bytes;
    unit.across = shape.per_node < shape.ranks;
    unit.predicted =
        base_.collective(task.collective, task.bytes, shape, workload_.scenario.cluster).time;
    into.push_back(std::move(unit));
  }

  const Workload& workload_;
  const Program& program_;
  const CostModel& base_;
};

}  // namespace

std::string op_of(const Work& work) {
  if (work.kernel < 0) return to_string(KernelFamily::Optimizer);
  const std::string name = kernel_name(work.kernel);
  return name.substr(0, name.find(' '));
}

StepPart part_of(const Task& task) {
  return task.phase == Phase::Forward  ? StepPart::Forward
         : task.phase == Phase::Update ? StepPart::Update
                                       : StepPart::Backward;
}

std::vector<PlannedUnit> planned_units(const Workload& workload, const Program& program,
                                       std::uint32_t device, const CostModel& base) {
  return UnitReader(workload, program, base).of(device);
}

std::vector<PlannedUnit> gradients_joined(const std::vector<PlannedUnit>& units) {
  std::vector<PlannedUnit> list;
  for (const PlannedUnit& unit : units) {
    if (!list.empty() && unit.part == StepPart::Backward && list.back().part == unit.part &&
        list.back().place == unit.place) {
      list.back().predicted += unit.predicted;
      list.back().works.insert(list.back().works.end(), unit.works.begin(), unit.works.end());
      continue;
    }
    list.push_back(unit);
  }
  return list;
}

}  // namespace trainyard
