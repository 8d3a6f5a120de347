// Implements the door of the CPU backend, behind which a session trains
// (backends/cpu/session/cpu_session.h).
#include "backends/cpu/cpu_backend.h"

#include "backends/cpu/check_training.h"
#include "backends/cpu/session/cpu_session.h"

namespace trainyard {

struct CpuBackend::Impl : CpuSession {
  using CpuSession::CpuSession;
};

CpuBackend::CpuBackend(const BackendJob& job, const CpuOptions& options, std::string_view name)
    : name_(name) {
  throw_if_errors(check(job));
  throw_if_errors(check_options(job, options));
  impl_ = std::make_unique<Impl>(job, options);
}
CpuBackend::~CpuBackend() = default;

std::unique_ptr<CpuBackend> CpuBackend::open(const BackendJob& job, CpuOptions options,
                                             std::string_view name) {
  // Processes have no virtual time in common.
  if (name != "cpu") options.mode = RunMode::WallClock;
  return std::make_unique<CpuBackend>(job, options, name);
}

BackendRun CpuBackend::run(const RunOptions& options) { return impl_->run(options, name_); }
std::vector<TrainedTensor> CpuBackend::parameters() const { return impl_->parameters(); }
std::vector<TrainedTensor> CpuBackend::statistics() const { return impl_->statistics(); }
void CpuBackend::set_parameters(const std::vector<TrainedTensor>& all) {
  impl_->set_parameters(all);
}
Checkpoint CpuBackend::state() const { return impl_->state(); }

}  // namespace trainyard
