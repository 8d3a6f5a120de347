// Implements how a session goes from step to step: the repetition of the program, and what is
// saved, evaluated, shown and lost around it.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/execution/evaluation.h"
#include "backends/cpu/execution/exchange/gather_run.h"
#include "backends/cpu/execution/numbers/number_windows.h"
#include "backends/cpu/execution/task_spans.h"
#include "backends/cpu/session/cpu_session.h"
#include "backends/device_memory.h"
#include "backends/processes.h"
#include "core/base/median.h"
#include "core/base/packed.h"
#include "core/timeline/metrics.h"

namespace trainyard {
namespace {

// A TrainingLoop is what a session keeps while it runs, and where its result grows.
class TrainingLoop {
 public:
  TrainingLoop(CpuSession& session, const RunOptions& options)
      : m_(session),
        options_(options),
        rules_(session.options.rules.get()),
        numbers_(session.plan.asynchronous ? nullptr : session.options.numbers.get()),
        flips_(session.execution.flips()),
        evaluates_(evaluation_of(session.workload.scenario.plan)),
        now_(session.options.begin) {}

  BackendRun run(std::string_view name) {
    begin();
    while (survived_loss([&] {
      train();
      finish(name);
    })) {
    }
    if (m_.processes != nullptr) m_.processes->report_losses(false);
    return std::move(result_);
  }

 private:
  struct Repetition {
    Timeline timeline;
    std::vector<MemoryWave> waves;
    Duration time{};
  };
  // Sight says who looks at a step besides its training.
  struct Sight {
    bool shows = false;     // rules look
    bool explodes = false;  // the guard against flipped bits looks
    bool watches = false;   // the record of numbers looks
    double loss_scale = 0;
  };

  // A Footing is where this process can go on from if another one is lost unasked. All processes
  // make theirs at the same points of a run; two that are under way are at most one apart.
  struct Footing {
    std::int64_t number = 0;
    std::string state, shards, shared, known;
  };

  void train() {
    const std::int64_t steps = m_.training.steps;
    const std::int64_t end = m_.options.until > 0 ? std::min(m_.options.until, steps) : steps;
    while (m_.execution.updates() < end && !result_.stopped) {
      if (m_.any(options_.stop.stop_requested()))
        result_.stopped = true;
      else
        step();
    }
  }

  // Returns whether a process was lost on the way, and all are back on their footing.
  template <class F>
  bool survived_loss(F&& train) {
    try {
      train();
      return false;
    } catch (const PeerLost& lost) {
      try {
        regain_footing(lost);
      } catch (const PeerLost& another) {
        throw Error(Error::Kind::Io, another.what());
      }
      return true;
    }
  }

  bool survives() const {
    return m_.shards != nullptr && m_.processes != nullptr && m_.processes->survives_losses();
  }

  // in_step: the end of the step is still to be done after it.
  void make_footing(bool in_step) {
    if (!survives()) return;
    in_step_ = in_step;
    ++footing_;
    if (footings_.size() == 2) footings_.erase(footings_.begin());
    footings_.push_back(
        {footing_, to_bytes(m_.state()), m_.shards->held(), m_.execution.shared_state(), known()});
  }

  Bytes kept() const {
    Bytes all = m_.kept_states.most();
    if (m_.shards != nullptr) all += m_.shards->bytes();
    for (const Footing& one : footings_)
      for (const std::string* part : {&one.state, &one.shards, &one.shared, &one.known})
        all += Bytes{static_cast<std::int64_t>(part->size())};
    return all;
  }

  // The others and the process in the lost one's place agree on the last footing that all have.
  std::int64_t agreed_footing(int& lost) const {
    std::string own;
    if (!footings_.empty()) append(own, footings_.back().number);
    const std::vector<std::string> told = m_.processes->all_gather(own);
    std::int64_t last = footing_;
    int missing = 0;
    for (std::size_t r = 0; r < told.size(); ++r)
      if (told[r].empty())
        lost = static_cast<int>(r), ++missing;
      else
        last = std::min(last, Pieces(told[r]).next<std::int64_t>());
    if (missing != 1)
      throw Error(Error::Kind::Io,
                  "a process was lost while another one took over from one that was lost before");
    return last;
  }

  void regain_footing(const PeerLost& what) {
    if (footings_.empty()) throw Error(Error::Kind::Io, what.what());
    m_.processes->rejoin();
    int lost = 0;
    const std::int64_t number = agreed_footing(lost);
    const auto at = std::find_if(footings_.begin(), footings_.end(),
                                 [&](const Footing& one) { return one.number == number; });
    if (at == footings_.end()) throw Error(Error::Kind::Io, what.what());
    const Footing footing = *at;
    footings_ = {footing};
    m_.renew_driver();
    m_.execution.forget_fetched();
    m_.execution.replace(DeviceId{0}, m_.processes->rank());
    m_.resume(parse_checkpoint(footing.state, "the state in memory"));
    m_.shards->go_back(footing.shards);
    m_.execution.go_on(footing.shared);
    result_ = {};
    know(footing.known);
    m_.shards->meter_lost({m_.execution.updates(), lost});
    m_.shards->hand_over(lost, footing.known);
    kept_.clear();
    go_on_after_loss();
  }

  void go_on_after_loss() {
    const bool in_step = in_step_;
    unplaced_ = anew_ = true;
    const bool back = goes_back_after_losses(true);
    make_footing(in_step && !back);
    if (back) return;
    if (!in_step) {
      repetition_ = 0;
      anew_ = false;
      return;
    }
    note_step();
    evaluate_if_due();
    keep({{}, {}, time_});
    end_step();
  }

  void begin() {
    if (m_.processes != nullptr && m_.processes->took_place()) return take_over();
    if (m_.options.from != nullptr)
      m_.resume(*m_.options.from);
    else if (const std::optional<Checkpoint> from = checkpoint_to_resume(m_.options))
      m_.resume(*from);
    else if (m_.training.sparsity > 0)
      m_.prune_weights();
    result_.first_step = m_.first_step;
    last_checkpoint_ = m_.first_step;
    if (const PartialRecovery& recovery = m_.training.recovery; recovery.on())
      begin_shards(recovery.how == ShardSaving::Full ? to_bytes(m_.state()) : std::string());
    recorded_.emplace(m_.options.spans);
    if (rules_ != nullptr) rules_->begin(m_.first_step);
    if (numbers_ != nullptr)
      numbers_->begin(m_.first_step, m_.training.steps, number_windows(m_.workload));
    make_footing(false);
    if (survives()) m_.processes->report_losses(true);
  }

  void begin_shards(std::string state) {
    m_.shards = std::make_unique<ShardSaves>(m_.execution, m_.workload, m_.training, m_.data,
                                             std::move(state));
  }

  // Returns what a process that takes a lost one's place must know of the session.
  std::string known() const {
    std::string bytes;
    append(bytes, footing_);
    append(bytes, in_step_);
    append(bytes, m_.first_step);
    append(bytes, last_checkpoint_);
    append(bytes, now_);
    append(bytes, time_);
    append(bytes, result_.skipped);
    append_list(bytes, m_.losses);
    append_list(bytes, result_.step_times);
    append_list(bytes, result_.evaluations);
    return bytes;
  }

  // Begins in a lost one's place, and ends the step after which that one was lost.
  void take_over() {
    if (m_.processes->took_place_unasked()) {
      int lost = 0;
      agreed_footing(lost);
    }
    begin_shards({});
    know(m_.shards->session());
    recorded_.emplace(m_.options.spans);
    go_on_after_loss();
    if (survives()) m_.processes->report_losses(true);
  }

  void know(std::string_view bytes) {
    Pieces pieces(bytes);
    footing_ = pieces.next<std::int64_t>();
    in_step_ = pieces.next<bool>();
    result_.first_step = m_.first_step = pieces.next<std::int64_t>();
    last_checkpoint_ = pieces.next<std::int64_t>();
    now_ = pieces.next<Instant>();
    time_ = pieces.next<Duration>();
    result_.skipped = pieces.next<std::int64_t>();
    m_.losses = pieces.list<double>();
    result_.step_times = pieces.list<Duration>();
    result_.evaluations = pieces.list<RunEvaluation>();
  }

  // Trains one repetition, or goes back to an earlier state.
  void step() {
    if (m_.acting) {
      const RecordedSpan acts(SpanLevel::Annotation, "acting");
      m_.acting->act(m_.workload.scenario.model, m_.parameters());
    }
    const bool recovers = flips_ != nullptr && flips_->settings().recover > 0;
    bool stuck = false;  // found wrong, and with nothing to go back to
    if (flips_ != nullptr) {
      m_.keep_if_due();
      m_.execution.begin_flips();
      // A tensor that has changed between two updates is found before it is computed with.
      if (recovers && flips_->alarmed()) {
        flips_->end_step();
        if (m_.go_back(m_.execution.updates())) return begin_again();
        stuck = true;
      }
    }
    const std::int64_t next = m_.execution.updates() + 1;
    const Sight sight = begin_sight(next);
    DriverResult done = repeat();
    time_ = m_.longest(makespan(done.timeline));
    // The steps of an asynchronous program overlap over the processes too.
    if (m_.processes != nullptr && m_.plan.asynchronous)
      gather_spans(done.timeline, m_.program, m_.execution);
    now_ += time_;
    m_.note_losses(now_);
    const SeenNumbers seen = sight.watches ? m_.execution.take_numbers() : SeenNumbers{};
    std::optional<Look> look;
    if (sight.shows || sight.explodes) look = m_.execution.take_look();
    if (flips_ != nullptr) {
      flips_->settle(m_.processes);
      if (sight.explodes) flips_->see(*look, m_.losses);
      const bool wrong = flips_->end_step();
      if (recovers && wrong && !stuck && m_.go_back(m_.execution.updates())) {
        result_.step_times.push_back(time_);
        return begin_again();
      }
      m_.execution.see_state();
    }
    std::vector<MemoryWave> waves = take_waves();
    if (m_.shards != nullptr) {
      m_.shards->see_update();
      in_step_ = true;  // for a process that takes a lost one's place
      const bool back = goes_back_after_losses(false);
      make_footing(!back);
      if (back) return;
    }
    note_step();
    if (numbers_ != nullptr)
      numbers_->add(next, sight.loss_scale, m_.execution.skipped(),
                    sight.watches ? &seen : nullptr);
    evaluate_if_due();
    const bool ends = rules_ != nullptr &&
                      m_.show(*rules_, sight.shows ? look : std::nullopt, result_.evaluations);
    keep({std::move(done.timeline), std::move(waves), time_});
    if (options_.progress)
      options_.progress(static_cast<double>(m_.execution.updates()) /
                        static_cast<double>(std::max<std::int64_t>(1, m_.training.steps)));
    end_step();
    if (ends && m_.execution.updates() < m_.training.steps) {
      result_.stopped = true;
      result_.stopped_by_rule = m_.execution.updates();
    }
  }

  void evaluate_if_due() {
    if (evaluates_ && m_.execution.updates() % evaluates_->every == 0)
      result_.evaluations.push_back(m_.evaluate(*evaluates_));
  }

  void end_step() {
    if (m_.options.checkpoint_every > 0 &&
        m_.execution.updates() - last_checkpoint_ >= m_.options.checkpoint_every) {
      m_.write_checkpoint();
      last_checkpoint_ = m_.execution.updates();
    }
    repetition_ = std::exchange(anew_, false) ? 0 : repetition_ + 1;
  }

  // After the run has gone back: what is known of later steps is forgotten.
  void begin_again() {
    if (rules_ != nullptr) rules_->go_back(m_.execution.updates());
    if (numbers_ != nullptr) numbers_->go_back(m_.execution.updates());
    while (!result_.evaluations.empty() && result_.evaluations.back().step > m_.execution.updates())
      result_.evaluations.pop_back();
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(m_.program.devices); ++d)
      if (m_.execution.here(DeviceId{d}, 0)) m_.execution.arena(DeviceId{d}, 0).take_wave();
    repetition_ = 0;
    anew_ = false;
  }

  Sight begin_sight(std::int64_t next) {
    Sight sight;
    sight.shows = rules_ != nullptr && !m_.plan.asynchronous && rules_->looks_at(next);
    sight.explodes = flips_ != nullptr && flips_->settings().rules;
    if (sight.shows || sight.explodes)
      m_.execution.look((sight.shows ? rules_->reads_at(next) : RuleReads::None) |
                        (sight.explodes ? exploding_tensor().reads : RuleReads::None));
    sight.watches = numbers_ != nullptr && numbers_->looks_at(next);
    if (sight.watches) m_.execution.watch_numbers();
    sight.loss_scale = m_.execution.scales_loss() ? m_.execution.scaler().scale() : 0;
    return sight;
  }

  DriverResult repeat() {
    DriverResult done;
    {
      const RecordedSpan updates(SpanLevel::Annotation, kUpdateSpan);
      {
        const RecordedSpan reads(SpanLevel::Annotation, "data");
        m_.execution.begin_repetition(repetition_);
      }
      done = m_.driver->run(m_.execution, repetition_,
                            m_.options.record_timeline ? m_.options.live : nullptr, {});
      m_.execution.end_repetition(repetition_);
    }
    if (std::exchange(unplaced_, false) && m_.options.place_buffers)
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(m_.program.devices); ++d) {
        const BufferPlaces places = place_buffers(m_.program, done.timeline, DeviceId{d});
        for (int peer = 0; peer < m_.execution.peers(); ++peer)
          if (m_.execution.here(DeviceId{d}, peer))
            m_.execution.arena(DeviceId{d}, peer).plan(places);
      }
    return done;
  }

  std::vector<MemoryWave> take_waves() {
    std::vector<MemoryWave> waves;
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(m_.program.devices); ++d)
      waves.push_back(m_.execution.here(DeviceId{d}, 0)
                          ? m_.execution.arena(DeviceId{d}, 0).take_wave()
                          : MemoryWave{});
    return waves;
  }

  // `lost`: this process has taken a lost one's place. It has no repetition of before, and the
  // others then keep none.
  bool goes_back_after_losses(bool lost) {
    const std::size_t losses = m_.shards->report().losses.size();
    const bool back = m_.lose_ranks([this] { return known(); }, lost);
    if (m_.shards->report().losses.size() > losses) {
      unplaced_ = true;
      anew_ = m_.processes != nullptr;
      if (anew_) kept_.clear();
    }
    if (!back) return false;
    result_.step_times.push_back(time_);
    begin_again();
    return true;
  }

  void note_step() {
    result_.skipped += m_.execution.skipped() ? 1 : 0;
    if (!m_.execution.orthogonality().empty())
      result_.orthogonality.push_back(m_.execution.orthogonality());
    if (!m_.execution.energy_sent().empty())
      result_.energy_sent.push_back(m_.execution.energy_sent());
    result_.staleness = m_.execution.staleness();
  }

  // Keeps the latest repetitions, since the first ones run on cold caches.
  void keep(Repetition one) {
    const std::vector<Duration> steps = m_.plan.asynchronous ? step_times(one.timeline, m_.program)
                                                             : std::vector<Duration>{one.time};
    result_.step_times.insert(result_.step_times.end(), steps.begin(), steps.end());
    if (anew_) return;
    kept_.push_back(std::move(one));
    if (kept_.size() > kMostKept) kept_.erase(kept_.begin());
  }

  void finish(std::string_view name) {
    if (rules_ != nullptr) result_.rules = rules_->fired();
    if (m_.execution.updates() != last_checkpoint_ || repetition_ > 0) m_.write_checkpoint();
    if (flips_ != nullptr) result_.flips = flips_->report();
    if (m_.shards != nullptr) result_.recovery = m_.shards->report();
    result_.kept = kept();
    result_.losses = m_.losses;
    result_.microbatch_losses = m_.execution.losses();
    result_.gradient_norm = m_.execution.gradient_norm();
    result_.widths = m_.execution.widths();
    if (!kept_.empty()) tell_median(name);
    result_.prepared.emplace();
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(m_.program.devices); ++d)
      for (int peer = 0; peer < m_.execution.peers(); ++peer) {
        if (!m_.execution.here(DeviceId{d}, peer)) continue;
        *result_.prepared += m_.execution.state(DeviceId{d}, peer).prepared;
        result_.memory.push_back(m_.memory_of(DeviceId{d}, peer));
      }
    add_memory(result_.memory, m_.lost_memory);
    *result_.prepared += m_.lost_prepared;
    if (m_.processes != nullptr) gather_run(result_, m_.program, m_.execution);
  }

  // The timeline and the waves of a run are those of its median repetition.
  void tell_median(std::string_view name) {
    std::vector<std::size_t> order(kept_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2),
                     order.end(),
                     [&](std::size_t a, std::size_t b) { return kept_[a].time < kept_[b].time; });
    Repetition& median = kept_[order[order.size() / 2]];
    // The steps of an asynchronous program overlap, so that filling and draining it say nothing of
    // its pace.
    const Duration step =
        m_.plan.asynchronous ? trainyard::median(result_.step_times) : median.time;
    if (step.count() > 0)
      result_.samples_per_second = static_cast<double>(m_.workload.scenario.plan.batch.global) *
                                   1e9 / static_cast<double>(step.count());
    result_.timeline = std::move(median.timeline);
    result_.timeline.clock = Timeline::Clock::Measured;
    result_.timeline.backend = name;
    result_.waves = std::move(median.waves);
  }

  static constexpr std::size_t kMostKept = 15;

  CpuSession& m_;
  const RunOptions& options_;
  RuleRun* const rules_;         // null: none watches
  NumberRecord* const numbers_;  // null: nobody is told how numbers lie in their formats
  FlipGuard* const flips_;       // null: no bits flip
  const std::optional<EvaluationPlan> evaluates_;
  std::optional<RecordingThread> recorded_;
  BackendRun result_;
  std::vector<Repetition> kept_;  // the latest
  Instant now_;
  Duration time_{};  // of the last repetition
  std::int64_t last_checkpoint_ = 0;
  int repetition_ = 0;  // since the run began or went back
  bool unplaced_ = true;
  bool anew_ = false;         // the next repetition is as the first: a process has been replaced
  std::int64_t footing_ = 0;  // number of the last one
  bool in_step_ = false;      // the end of a step follows it
  std::vector<Footing> footings_;  // the last two, where the run survives the loss of a process
};

}  // namespace

BackendRun CpuSession::run(const RunOptions& asked, std::string_view name) {
  return TrainingLoop(*this, asked).run(name);
}

// The first process keeps the state of all devices, as it does for a checkpoint's file, so that the
// same bits of it flip however many processes there are.
void CpuSession::keep_if_due() {
  FlipGuard& flips = *execution.flips();
  if (flips.settings().recover <= 0 ||
      !any(first_process() && kept_states.due(flips, execution.updates())))
    return;
  execution.fetch_state();
  if (first_process()) kept_states.keep(flips, state());
  execution.forget_fetched();
}

bool CpuSession::go_back(std::int64_t done) {
  std::optional<Checkpoint> sound;
  if (first_process()) sound = kept_states.sound(*execution.flips(), done);
  if (processes != nullptr) {
    const std::string told =
        processes->all_gather(sound ? to_bytes(*sound) : std::string()).front();
    if (!told.empty()) sound = parse_checkpoint(told, "the state in memory");
  }
  if (!sound) return false;
  const std::int64_t first = first_step;
  resume(*sound);
  first_step = first;
  return true;
}

bool CpuSession::lose_ranks(const std::function<std::string()>& known, bool lost) {
  const bool full = training.recovery.how == ShardSaving::Full;
  while (const std::optional<ShardKill> kill = shards->next_failing()) {
    const int rank = static_cast<int>(kill->rank);
    lost = true;
    if (processes == nullptr) {
      add_memory(lost_memory, {memory_of(DeviceId{0}, rank)});
      lost_prepared += execution.state(DeviceId{0}, rank).prepared;
    }
    shards->lose(*kill, known);
  }
  execution.forget_fetched();
  if (full && lost) {
    const std::int64_t done = execution.updates(), first = first_step;
    resume(parse_checkpoint(shards->kept(), "the state in memory"));
    first_step = first;
    shards->went_back(done - execution.updates());
    return true;
  }
  if (!shards->due()) return false;
  if (full)
    shards->keep(to_bytes(state()));
  else
    shards->save();
  return false;
}

RunEvaluation CpuSession::evaluate(const EvaluationPlan& how) {
  execution.fetch_state();
  std::vector<TrainedTensor> trained;
  if (first_process()) {
    trained = whole_parameters();
    std::vector<TrainedTensor> also = execution.whole_statistics();
    std::move(also.begin(), also.end(), std::back_inserter(trained));
  }
  if (processes != nullptr)
    trained = unpack_tensors(processes->all_gather(pack_tensors(trained)).front());
  const ModelEvaluation found =
      trainyard::evaluate(workload, trained, given, how.samples, {how.replicas, processes});
  return {execution.updates(), found.loss, found.accuracy, found.samples, found.time};
}

void CpuSession::tell(std::int64_t number, double loss, Instant at) {
  if (options.live == nullptr) return;
  LiveStep step;
  step.step = number;
  step.batch = workload.scenario.plan.batch.global;
  step.loss = loss;
  step.rate = rate_at(settled, number - 1);
  step.gradient_norm = execution.gradient_norm();
  step.loss_scale = execution.scales_loss() ? execution.scaler().scale() : 0;
  step.skipped = execution.skipped();
  step.at = at;
  for (const auto& [ratios, into] : {std::pair{&execution.orthogonality(), &step.orthogonality},
                                     std::pair{&execution.energy_sent(), &step.energy_sent}})
    if (!ratios->empty()) *into = std::make_shared<const std::vector<double>>(*ratios);
  options.live->steps().push(std::move(step));
}

bool CpuSession::show(RuleRun& rules, const std::optional<Look>& seen,
                      const std::vector<RunEvaluation>& evaluations) {
  const std::int64_t steps = plan.asynchronous ? program.steps : 1;
  const auto done = static_cast<std::int64_t>(losses.size());
  bool fires = false;
  for (std::int64_t step = done - steps + 1; step <= done; ++step) {
    rules.add_loss(losses[static_cast<std::size_t>(step - 1)]);
    if (!evaluations.empty() && evaluations.back().step == step)
      rules.add_evaluation({step, evaluations.back().loss});
    if (!seen && !(plan.asynchronous && rules.looks_at(step))) continue;
    Look look = seen.value_or(Look{});
    look.step = step;
    look.rate = rate_at(settled, step - 1);
    fires = rules.see(std::move(look)) || fires;
  }
  return fires && rules.watch().stops;
}

void CpuSession::note_losses(Instant at) {
  const auto per_step = static_cast<std::size_t>(program.microbatches) *
                        static_cast<std::size_t>(plan.peers.replicas());
  const std::size_t steps = plan.asynchronous ? static_cast<std::size_t>(program.steps) : 1;
  for (std::size_t s = 0; s < steps; ++s) {
    losses.push_back(mean_loss(s * per_step, per_step));
    // An asynchronous program of one process has reported its steps one by one.
    if (!plan.asynchronous || processes != nullptr)
      tell(static_cast<std::int64_t>(losses.size()), losses.back(), at);
  }
}

}  // namespace trainyard
