#include "app/desktop/analyse/goodput_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>

#include <functional>
#include <optional>
#include <utility>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "visualizers/energy/energy_view.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

constexpr int kKnobsWidth = 268, kKnobWidth = 96;
constexpr Recovery kRecoveries[] = {Recovery::Full, Recovery::Asynchronous, Recovery::Peers,
                                    Recovery::Partial};

double work_of(const std::string& text) {
  const std::optional<double> work = parse_budget(text, 1, 1e18);
  if (!work)
    refuse("expected a count as 15 T, 300 B or 1e12, found \"" + text.substr(0, 40) + "\"");
  return *work;
}

double portion_of(const std::string& text) {
  const double portion = parse_number(text);
  if (!(portion > 0 && portion < 1)) refuse("expected a share between 0 and 1");
  return portion;
}

std::int64_t whole_of(const std::string& text, std::int64_t low, std::int64_t high) {
  const std::int64_t number = parse_integer(text);
  if (number < low || number > high)
    refuse("expected a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return number;
}

double seconds_of(const std::string& text) { return to_seconds(parse_duration(text)); }

// One field of the question: how it is read into it.
struct GoodputKnob {
  const char* place;
  const char* title;
  const char* usual;
  void (*read)(GoodputQuestion&, const std::string&);
};

constexpr GoodputKnob kKnobs[] = {
    {"tokens", "Tokens or samples", "1 T",
     [](GoodputQuestion& q, const std::string& t) { q.work = work_of(t); }},
    {"mtbf", "Time between failures", "by the record",
     [](GoodputQuestion& q, const std::string& t) { q.mtbf = seconds_of(t); }},
    {"interval", "Time between saves", "the best",
     [](GoodputQuestion& q, const std::string& t) { q.interval = seconds_of(t); }},
    {"node-storage", "Storage of a node", "1 GB/s",
     [](GoodputQuestion& q, const std::string& t) { q.storage.node = parse_bandwidth(t); }},
    {"storage", "Storage of all nodes", "2 TB/s",
     [](GoodputQuestion& q, const std::string& t) { q.storage.all = parse_bandwidth(t); }},
    {"detection", "Detection of a failure", "10 min",
     [](GoodputQuestion& q, const std::string& t) { q.detection = seconds_of(t); }},
    {"scheduling", "Starting again", "5 min",
     [](GoodputQuestion& q, const std::string& t) { q.scheduling = seconds_of(t); }},
    {"spares", "Spare nodes", "enough",
     [](GoodputQuestion& q, const std::string& t) { q.spares = whole_of(t, 0, kMostSpares); }},
    {"repair", "Repair of a node", "1 d",
     [](GoodputQuestion& q, const std::string& t) { q.repair = seconds_of(t); }},
    {"lost-samples", "Lost samples allowed", "0.1",
     [](GoodputQuestion& q, const std::string& t) { q.portion = portion_of(t); }},
    {"copies", "Copies with peers", "2",
     [](GoodputQuestion& q, const std::string& t) { q.copies = whole_of(t, 2, kMostCopies); }},
    {"weeks", "Weeks drawn", "8",
     [](GoodputQuestion& q, const std::string& t) { q.weeks = whole_of(t, 1, kMostWeeks); }},
    {"seed", "Seed of the weeks", "1",
     [](GoodputQuestion& q, const std::string& t) {
       q.seed = static_cast<std::uint64_t>(whole_of(t, 0, 1'000'000'000));
     }},
};

QString recovery_title(Recovery recovery) {
  switch (recovery) {
    case Recovery::Full:
      return "Full, standing still";
    case Recovery::Asynchronous:
      return "Asynchronous saves";
    case Recovery::Peers:
      return "Memories of peers";
    case Recovery::Partial:
      break;
  }
  return "Partial, of tables";
}

}  // namespace

class GoodputScene : public ViewScene {
 public:
  /// The state is the page's, which outlives the scene.
  GoodputScene(Session& session, GoodputState& state)
      : ViewScene(session, "goodput"), state_(state) {}

  const AskedGoodput* asked() const { return session_.data() == nullptr ? nullptr : &answer(); }

  DataTable rows() const override {
    const AskedGoodput& found = answer();
    return found.answer ? goodput_table(*found.answer) : DataTable{};
  }
  void select(Item item) override { state_.selected = item; }

 protected:
  Drawing paint(Size size, double) const override {
    Drawing drawing(size);
    draw_asked(drawing, whole(size), answer(), state_.selected);
    return drawing;
  }

  bool take(const InputFrame& frame) override {
    if (frame.pressed[0]) state_.selected = hit(last_, frame.at);
    return frame.pressed[0];
  }

  Hover describe(Point p) const override {
    const AskedGoodput& found = answer();
    return found.answer ? describe_goodput(*found.answer, hit(last_, p)) : Hover{};
  }

  QString words() const override {
    const AskedGoodput& found = answer();
    if (!found.answer) return "Goodput: there is no answer. " + q(found.refusal) + ".";
    QString text = "Goodput.";
    for (const std::string& sentence : goodput_sentences(*found.answer)) text += " " + q(sentence);
    return text;
  }

 private:
  // Kept until the experiment or the question changes.
  const AskedGoodput& answer() const {
    if (of_ != data().experiment || version_ != state_.version) {
      answer_ = ask_goodput(data().get<GoodputSubject>(), state_.question);
      of_ = data().experiment;
      version_ = state_.version;
    }
    return answer_;
  }

  GoodputState& state_;
  mutable AskedGoodput answer_;
  mutable ExperimentPtr of_;
  mutable int version_ = -1;
};

GoodputPage::GoodputPage(Session& session, QWidget* parent) : ViewPage(session, parent) {
  auto [panel, column] = make_panel(kKnobsWidth, 0);
  column->setContentsMargins(0, 0, 0, 0);
  auto* inside = new QWidget;
  auto* fields = new QVBoxLayout(inside);
  fields->setContentsMargins(12, 8, 12, 8);
  fields->setSpacing(8);
  add_fields(fields);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setWidget(inside);
  scroll->setAccessibleName("Knobs of goodput");
  column->addWidget(scroll);
  auto scene = std::make_unique<GoodputScene>(session, state_);
  goodput_ = scene.get();
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(panel);
  row->addWidget(set_scene("Goodput by the time between saves, and weeks with drawn failures",
                           std::move(scene)),
                 1);
}

void GoodputPage::add_fields(QVBoxLayout* column) {
  const auto add_choice = [&](const char* title) {
    auto* field = new Field(title);
    field->setFixedHeight(kFieldHeight);
    column->addWidget(make_label(title, 12, QFont::Normal, "second"));
    column->addWidget(field);
    connect(field, &QComboBox::currentIndexChanged, this, &GoodputPage::take);
    return field;
  };
  record_ = add_choice("Whose failures");
  recovery_ = add_choice("Recovery");
  for (const FailureRecord& one : failure_records()) record_->addItem(q(one.title), q(one.name));
  record_->addItem("Nothing fails", q(kNoFailures));
  for (const Recovery one : kRecoveries) recovery_->addItem(recovery_title(one));
  for (const GoodputKnob& knob : kKnobs) {
    auto* field = new CheckedField({knob.title, knob.usual,
                                    [read = knob.read](const std::string& typed) {
                                      GoodputQuestion unused;
                                      read(unused, typed);
                                    },
                                    kKnobWidth});
    fields_[knob.place] = field;
    column->addWidget(field);
    connect(field, &CheckedField::changed, this, &GoodputPage::take);
  }
  column->addStretch(1);
}

const AskedGoodput* GoodputPage::asked() const { return goodput_->asked(); }

// A field that cannot be read says so, and leaves its part of the question as it was.
void GoodputPage::take() {
  if (goodput_ == nullptr) return;  // while the fields are made
  GoodputQuestion question;
  question.record = record_->currentData().toString().toStdString();
  question.recovery = kRecoveries[static_cast<std::size_t>(recovery_->currentIndex())];
  for (const GoodputKnob& knob : kKnobs) {
    CheckedField& field = *fields_.at(knob.place);
    if (!field.check()) return;
    if (!field.text().empty()) knob.read(question, field.text());
  }
  state_.question = std::move(question);
  ++state_.version;
  const AskedGoodput* found = asked();
  if (found != nullptr && !found->answer)
    if (const auto field = fields_.find(found->place); field != fields_.end())
      field->second->refuse(q(found->refusal));
  refresh();
}

}  // namespace trainyard
