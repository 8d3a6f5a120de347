// Implements what a session is made of, and what its processes agree on.
#include "backends/cpu/session/cpu_session.h"

#include <array>

#include "backends/anchored.h"
#include "backends/cpu/time/virtual_time.h"
#include "backends/documents.h"
#include "backends/processes.h"
#include "core/base/processor_time.h"
#include "core/cluster/host.h"
#include "core/cluster/nvme.h"
#include "core/training/data/corrupted_data.h"
#include "core/training/data/repeated_data.h"

namespace trainyard {
namespace {

// A static loss scale of the plan replaces the run's; its window applies if the run states none.
Training with_loss_scale(Training training, const Plan& plan) {
  const Choice* fp16 = find_choice(plan, "fp16");
  if (fp16 == nullptr) return training;
  if (fp16->params.flag("dynamic")) {
    const std::int64_t usual = Training{}.scale_window;
    if (training.scale_window == usual) training.scale_window = fp16->params.integer("window");
    return training;
  }
  training.loss_scale = static_cast<double>(fp16->params.integer("loss-scale"));
  training.scale_window = 0;
  return training;
}

// The rates at which the wall clock lets devices exchange with their hosts, and hosts with NVMe:
// what the plan's prices say. Processes, whose links are what they are, are not slowed down.
HostRates host_rates(const Workload& w, const CpuOptions& options) {
  const bool offloads = w.layout.host_optimizer || w.layout.host_activations;
  if (!offloads || options.processes != nullptr) return {};
  const Cluster& cluster = w.scenario.cluster;
  const Host host = host_of(cluster);
  HostRates rates{host.link.value.value * host.link_share, 0, 0};
  if (!w.layout.nvme_optimizer) return rates;
  const Nvme nvme = nvme_of(cluster);
  const auto sharing = static_cast<double>(devices_per_node(cluster));
  rates.nvme_read = nvme.read.value.value / sharing;
  rates.nvme_write = nvme.write.value.value / sharing;
  return rates;
}

// Null where samples come as the job's data have them.
std::unique_ptr<DataSource> pairs_of(const BackendJob& job) {
  const Training& training = *job.training;
  if (training.bit_errors > 0)
    return std::make_unique<RepeatedData>(*job.data, job.workload.scenario.plan.batch.micro);
  if (training.stability == 0) return anchored_data(job);
  return std::make_unique<PairedData>(*job.data, training.stability_data,
                                      seed_of(training, RandomSource::Augmentation));
}

}  // namespace

CpuSession::CpuSession(const BackendJob& job, const CpuOptions& o)
    : workload(job.workload),
      program(job.program),
      training(with_loss_scale(*job.training, job.workload.scenario.plan)),
      settled(for_batch(training, job.workload.scenario.plan.batch.global)),
      given(*job.data),
      acting(job.data->acting()),
      documents(documents_of(job)),
      paired(pairs_of(job)),
      data(acting      ? *acting
           : documents ? *documents
           : paired    ? *paired
                       : *job.data),
      options(o),
      plan(workload, program),
      execution(plan, options, std::array{TrainedJob{&settled, &data}}),
      processes(options.processes),
      driver(options.mode == RunMode::VirtualTime
                 ? virtual_time_driver(job.prices, options.processor_time ? options.processor_time
                                                                          : thread_processor_time)
                 : wall_clock()) {
  // No process of several has all losses before the repetition ends.
  if (processes == nullptr)
    execution.step_done = [this](std::int64_t step) {
      const auto m = static_cast<std::size_t>(program.microbatches);
      const std::size_t first =
          static_cast<std::size_t>(step) * m * static_cast<std::size_t>(plan.peers.replicas());
      tell(static_cast<std::int64_t>(losses.size()) + step + 1, mean_loss(first, m), Instant{});
    };
}

std::unique_ptr<Driver> CpuSession::wall_clock() const {
  return wall_clock_driver(options.threads, options.link_bytes_per_second,
                           host_rates(workload, options));
}

DeviceMemory CpuSession::memory_of(DeviceId device, int peer) {
  const Arena& arena = execution.arena(device, peer);
  const DeviceState& held = execution.state(device, peer);
  return {device,
          peer,
          arena.most(),
          arena.reach(),
          arena.most_by_category(),
          held.scratch,
          held.load,
          static_cast<double>(held.dropped) /
              static_cast<double>(std::max<std::int64_t>(1, held.copies)),
          held.host().most(),
          held.nvme() != nullptr ? held.nvme()->size() : Bytes{}};
}

bool CpuSession::any(bool here) const {
  if (processes == nullptr) return here;
  double asked = here ? 1 : 0;
  processes->sum({&asked, 1});
  return asked > 0;
}

Duration CpuSession::longest(Duration here) const {
  if (processes == nullptr) return here;
  std::int64_t most = here.count();
  for (const std::string& one : processes->all_gather(std::to_string(here.count())))
    most = std::max(most, static_cast<std::int64_t>(std::stoll(one)));
  return Duration{most};
}

double CpuSession::mean_loss(std::size_t first, std::size_t count) const {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += execution.loss(i);
  return sum / static_cast<double>(count);
}

}  // namespace trainyard
