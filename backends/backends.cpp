#include "backends/backends.h"

#include <fmt/format.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "backends/simulator/simulator.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

constexpr BackendEntry kBackends[] = {
    {.name = "simulator",
     .summary = "Prices every instruction by the cost model and says what would run when.",
     .needs = "a program and its prices",
     .trains = false,
     .measures = true,
     .check = Simulator::check,
     .open = [](const BackendJob& job, const CpuOptions&) -> std::unique_ptr<Backend> {
       return std::make_unique<Simulator>(job);
     }},
    {.name = "cpu",
     .summary = "Trains on this machine's cores, fast, on virtual devices with a memory each.",
     .needs = "a program at op grain, training and data",
     .trains = true,
     .measures = true,
     .check = CpuBackend::check,
     .open = [](const BackendJob& job, const CpuOptions& options) -> std::unique_ptr<Backend> {
       return CpuBackend::open(job, options, "cpu");
     }},
    {.name = "mpi",
     .summary =
         "Trains as cpu does, over the processes that mpirun or srun started: a message of MPI "
         "where two devices are of two processes.",
     .needs = "a program at op grain, training and data, and at least as many devices as processes",
     .trains = true,
     .measures = true,
     .check = CpuBackend::check,
     .open = [](const BackendJob& job, const CpuOptions& options) -> std::unique_ptr<Backend> {
       return CpuBackend::open(job, options, "mpi");
     }},
    {.name = "processes",
     .summary = "Trains as mpi does, over the processes of this machine that --processes started: "
                "messages go through sockets, and there is no MPI.",
     .needs = "a program at op grain, training and data, and at least as many devices as processes",
     .trains = true,
     .measures = true,
     .check = CpuBackend::check,
     .open = [](const BackendJob& job, const CpuOptions& options) -> std::unique_ptr<Backend> {
       return CpuBackend::open(job, options, "processes");
     }},
    {.name = "reference",
     .summary = "Trains on one core in 8-byte numbers, slow and exact; measures no time.",
     .needs =
         "a program at op grain without tp, cp and ep, a constant rate without decay, and data; "
         "sgd or momentum where updates are asynchronous",
     .trains = true,
     .measures = false,
     .check = ReferenceBackend::check,
     .open = [](const BackendJob& job, const CpuOptions&) -> std::unique_ptr<Backend> {
       return std::make_unique<ReferenceBackend>(job);
     }}};

}  // namespace

std::span<const BackendEntry> backends() { return kBackends; }

bool over_processes(std::string_view name) { return name == "mpi" || name == "processes"; }

const BackendEntry& training_backend(std::string_view name, const Place& place) {
  std::vector<std::string_view> names;
  for (const BackendEntry& entry : backends()) {
    if (entry.trains) names.push_back(entry.name);
    if (entry.name != name) continue;
    if (entry.trains) return entry;
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a backend that trains, found \"{}\", which trains nothing; "
                            "\"trainyard simulate\" runs it",
                            name),
                place);
  }
  // A name of the command line's contract that this program does not have.
  if (name == "vulkan")
    throw Error(Error::Kind::Unsupported,
                "this program was built without the backend \"vulkan\"; \"cpu\" trains on this "
                "machine",
                place);
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected {}, found \"{}\"{}", fmt::join(names, " or "), name,
                          did_you_mean(name, names)),
              place);
}

}  // namespace trainyard
