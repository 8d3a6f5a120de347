#include "app/desktop/study/placement_panel.h"

#include <QPushButton>
#include <QVBoxLayout>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/word_list.h"
#include "core/base/units_text.h"
#include "core/io/json/inline_document.h"

namespace trainyard {
namespace {

constexpr int kPlacementField = 80;  // px

// A field of the question: how it is checked, what stands for it while it is empty, and how it is
// read.
struct PlacementField {
  const char *title, *tip;
  std::function<void(const std::string&)> check;
  QString (*usual)(const PlacementAsked&);
  void (*read)(PlacementAsked&, const CheckedField&);
};

QString whole_words(std::int64_t number) { return QString::number(number); }
QString number_words(double number) { return q(to_text(number)); }
int small_in(const CheckedField& field) { return static_cast<int>(whole_or(field, 0)); }

const std::vector<PlacementField>& placement_fields() {
  static const std::vector<PlacementField> all = {
      {"Nodes", "", whole_check(1, kMostPlacedNodes),
       [](const PlacementAsked& a) { return whole_words(a.question.traces.nodes.count); },
       [](PlacementAsked& a, const CheckedField& f) {
         a.question.traces.nodes.count = small_in(f);
       }},
      {"Devices of a node", "Its jobs share them in time.", whole_check(1, kMostNodeDevices),
       [](const PlacementAsked& a) { return whole_words(a.question.traces.nodes.devices); },
       [](PlacementAsked& a, const CheckedField& f) {
         a.question.traces.nodes.devices = whole_or(f, 1);
       }},
      {"Memory of a node, GB", "Of all its devices together.", number_check(1, kMostNodeGigabytes),
       [](const PlacementAsked& a) { return number_words(gigabytes_of(a.question.traces.nodes)); },
       [](PlacementAsked& a, const CheckedField& f) {
         set_gigabytes(a.question.traces.nodes, number_or(f, 1));
       }},
      {"Jobs of a trace", "", whole_check(2, kMostTraceJobs),
       [](const PlacementAsked& a) { return whole_words(a.question.traces.jobs); },
       [](PlacementAsked& a, const CheckedField& f) { a.question.traces.jobs = small_in(f); }},
      {"Load", "The share of all devices that jobs ask for in the mean.",
       number_check(kLeastLoad, kMostLoad),
       [](const PlacementAsked& a) { return number_words(a.question.traces.load); },
       [](PlacementAsked& a, const CheckedField& f) { a.question.traces.load = number_or(f, 1); }},
      {"Patience, minutes", "A job that has waited so long for room is rejected.",
       number_check(0, kMostPatienceMinutes),
       [](const PlacementAsked& a) { return number_words(to_seconds(a.question.patience) / 60); },
       [](PlacementAsked& a, const CheckedField& f) {
         a.question.patience = seconds(60 * number_or(f, 0));
       }},
      {"Traces to learn from", "Imitations of hindsight learn from them.",
       whole_check(1, kMostTraces),
       [](const PlacementAsked& a) { return whole_words(a.question.training); },
       [](PlacementAsked& a, const CheckedField& f) { a.question.training = small_in(f); }},
      {"Traces to compare on", "Nothing has learned from these.", whole_check(1, kMostTraces),
       [](const PlacementAsked& a) { return whole_words(a.question.held_out); },
       [](PlacementAsked& a, const CheckedField& f) { a.question.held_out = small_in(f); }},
      {"Seed of the traces", "", whole_check(0, kMostTraceSeed),
       [](const PlacementAsked& a) {
         return whole_words(static_cast<std::int64_t>(a.question.traces.seed));
       },
       [](PlacementAsked& a, const CheckedField& f) {
         a.question.traces.seed = static_cast<std::uint64_t>(whole_or(f, 0));
       }},
  };
  return all;
}

}  // namespace

PlacementPanel::PlacementPanel(Document& document, const PlacementMeasurement& measurement,
                               QWidget* parent)
    : MeasurementPanel({"Placement", "What is placed", "Share of the study done",
                        "Why nothing is placed", "Question about placement"},
                       document, measurement, parent) {
  make_question();
  std::vector<CheckedField*> all = asked_;
  all.push_back(hours_);
  follow(jobs_, std::move(all));
  refresh();
}

void PlacementPanel::make_question() {
  auto* column = begin_fields(
      "Jobs arrive over time and share nodes. Policies that see the present place them, and "
      "hindsight, which knows all of a trace; the most loaded node's peak memory is compared.");
  const PlacementAsked usual;
  for (const PlacementField& each : placement_fields()) {
    auto* field = new CheckedField({each.title, each.usual(usual), each.check, kPlacementField});
    field->setToolTip(each.tip);
    column->addWidget(field);
    asked_.push_back(field);
  }
  jobs_ = new WordList({.title = "Kinds of jobs",
                        .hint = "MODEL CLUSTER KEY=VALUE …",
                        .check = [](const std::string& typed) { placed_job(typed); },
                        .chip =
                            [](const QString& words) {
                              const Request job = placed_job(words.toStdString());
                              return q(word_title(job.model) + " on " + job.cluster);
                            }});
  jobs_->setToolTip(
      "Each is simulated for its devices and its memory over a step. Without any, jobs are probes, "
      "fine-tunings, pre-trainings and evaluations of stated sizes.");
  column->addWidget(jobs_);
  add_plan_ = new QPushButton("Add the open plan");
  add_plan_->setAccessibleName("Add the open plan to the kinds of jobs");
  connect(add_plan_, &QPushButton::clicked, this, [this] { jobs_->add(words_of_plan()); });
  column->addWidget(add_plan_);
  hours_ = new CheckedField({"Hours of such a job", number_words(usual.hours),
                             number_check(kLeastJobHours, kMostJobHours), kPlacementField});
  hours_->setToolTip("Half of the jobs of a plan take less.");
  column->addWidget(hours_);
  column->addStretch(1);
}

// Words of a kind of job have blanks between them, so that documents and edited orders have no
// place there.
QString PlacementPanel::words_of_plan() const {
  const ProjectPlan* const plan = document().plan();
  if (plan == nullptr || document().project().model.empty()) return {};
  const Request request = request_of(document().project(), *plan);
  if (!request.plan.empty()) return {};
  std::string words = request.model + " " + request.cluster;
  for (const std::string& setting : request.settings) words += " " + setting;
  const Request read = placed_job(words);
  const bool same = read.model == request.model && read.cluster == request.cluster &&
                    read.settings == request.settings;
  return same ? q(words) : QString();
}

PlacementAsked PlacementPanel::question() const {
  PlacementAsked asked;
  for (std::size_t i = 0; i < asked_.size(); ++i)
    if (!asked_[i]->text().empty()) placement_fields()[i].read(asked, *asked_[i]);
  asked.jobs = jobs_->words();
  if (!asked.jobs.empty()) asked.hours = number_or(*hours_, asked.hours);
  return asked;
}

QString PlacementPanel::fingerprint() const {
  return fields_hold() ? q(placement_command(question())) : QString();
}

MeasurementPanel::Verbs PlacementPanel::verbs() const {
  return {"Place", "Place again", "Start placing jobs", "Stop placing jobs", ""};
}

QString PlacementPanel::missing() const { return wrong_field(); }

QString PlacementPanel::subject() const {
  if (!fields_hold()) return "Jobs on nodes";
  const TraceQuestion asked = question().question.traces;
  return QString("%1 jobs on %2 nodes").arg(asked.jobs).arg(asked.nodes.count);
}

void PlacementPanel::refresh() {
  const bool has_words = !words_of_plan().isEmpty();
  add_plan_->setEnabled(has_words);
  add_plan_->setToolTip(has_words ? "Jobs then need the devices and the memory of the open plan."
                                  : "A plan of settings alone can be a kind of job.");
  MeasurementPanel::refresh();
}

void PlacementPanel::refresh_progress() {
  hours_->setVisible(!jobs_->words().empty());
  MeasurementPanel::refresh_progress();
}

}  // namespace trainyard
