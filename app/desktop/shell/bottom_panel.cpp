#include "app/desktop/shell/bottom_panel.h"

#include <QHeaderView>
#include <QLabel>
#include <QStackedWidget>
#include <QTabBar>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/swatch.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/session/plan_words.h"
#include "app/desktop/tables/reading_tables.h"
#include "app/desktop/tables/table.h"
#include "core/model/trained_tables.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/viewmodel/statistics.h"

namespace trainyard {
namespace {

constexpr int kMostRows = 200;
constexpr int kAlive = 2, kWaves = 3, kPath = 4;  // indices of tabs
constexpr int kOfRun = Qt::UserRole + 1;          // data of a problem that a rule on a run has

QString ink_word(Ink ink) {
  switch (ink) {
    case Ink::Forward:
      return "forward";
    case Ink::Backward:
      return "backward";
    case Ink::WeightGradient:
      return "weight gradient";
    case Ink::Recompute:
      return "recompute";
    case Ink::Communication:
      return "communication";
    case Ink::Optimizer:
      return "optimizer";
    default:
      return "other";
  }
}

}  // namespace

BottomPanel::BottomPanel(Session& session, Exploration& exploration, QWidget* parent)
    : QWidget(parent),
      session_(session),
      exploration_(exploration),
      names_(this),
      tabs_(new QTabBar),
      pages_(new QStackedWidget) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  statistics_ = make_table("Statistics of the range",
                           {"Name", "Category", "Count", "Sum", "Self", "Average", "Min", "p50",
                            "p95", "Max", "Of range"},
                           {400, 200});
  statistics_->headerItem()->setToolTip(
      10, "Share of the range, mean over the lanes that have work of this kind");
  problems_ = make_table("Problems", {"Problem", "Where", "What helps"}, {700, 260, 260});
  alive_ = make_alive_table();
  waves_ = make_wave_table();
  path_ = make_path_table();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  QHBoxLayout* row = add_bar(column);
  row->setContentsMargins(0, 0, 8, 0);
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  tabs_->setAccessibleName("Bottom panel");
  for (const char* name : {"Statistics", "Problems", "Alive at t", "Waves", "Critical path"})
    tabs_->addTab(name);
  row->addWidget(tabs_);
  row->addStretch(1);
  for (QTreeWidget* table : {statistics_, problems_, alive_, waves_, path_})
    pages_->addWidget(table);
  column->addWidget(pages_, 1);
  connect(tabs_, &QTabBar::currentChanged, this, [this](int index) {
    pages_->setCurrentIndex(index);
    refresh_readings();
  });
  connect(&session_, &Session::experiment_changed, this, [this] {
    refresh_statistics();
    refresh_problems();
    refresh_alive();
    tabs_->setTabText(kWaves, fill_waves(waves_, session_));
    tabs_->setTabText(kPath, fill_path(path_, session_));
  });
  connect(&session_, &Session::range_changed, this, &BottomPanel::refresh_statistics);
  connect(&session_, &Session::range_changed, this, &BottomPanel::refresh_readings);
  connect(&session_, &Session::view_changed, this, [this] {
    if (tabs_->currentIndex() == kAlive && !exploration_.pinned()) refresh_alive();
  });
  connect(&exploration_, &Exploration::pin_changed, this, [this] {
    if (exploration_.pinned()) tabs_->setCurrentIndex(kAlive);
    refresh_alive();
  });
  connect(alive_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
    exploration_.show_lives({item->data(0, Qt::UserRole).toUInt()});
    Q_EMIT place_shown();
  });
  connect(problems_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
    if (const QString set = item->data(2, Qt::UserRole).toString(); !set.isEmpty())
      Q_EMIT apply(set);
    if (const QVariant at = item->data(1, Qt::UserRole); at.isValid()) {
      const Instant instant{at.toLongLong()};
      exploration_.go_to_place(instant, instant);
      Q_EMIT place_shown();
    }
    if (item->data(1, kOfRun).toBool()) Q_EMIT run_shown();
  });
  refresh_problems();
}

void BottomPanel::set_run_rules(std::vector<FiredRule> rules) {
  run_rules_ = std::move(rules);
  refresh_problems();
}

void BottomPanel::show_problems() { tabs_->setCurrentIndex(1); }

void BottomPanel::refresh_statistics() {
  const std::shared_ptr<const ViewData> views = session_.shared_data();
  if (views == nullptr) {
    names_.stop();
    statistics_->clear();
    return tabs_->setTabText(0, "Statistics");
  }
  const TimeRange range = session_.range();
  tabs_->setTabText(0, QString("Statistics   %1 %2 to %3")
                           .arg(session_.state().range ? "range" : "whole run",
                                q(format_duration(range.from)), q(format_duration(range.to))));
  std::vector<std::uint32_t> rows;
  for (const RankLanes& rank : views->get<TimelineModel>().ranks) {
    rows.insert(rows.end(), rank.compute.begin(), rank.compute.end());
    rows.insert(rows.end(), rank.comm.begin(), rank.comm.end());
  }
  names_.ask(views, views->get<TimelineModel>().spans, std::move(rows), range.from, range.to,
             [this, views, range](const std::vector<NameStatistics>& list, bool exact) {
               show_statistics(views->get<TimelineModel>(), range, list, exact);
             });
}

void BottomPanel::show_statistics(const TimelineModel& model, const TimeRange& range,
                                  const std::vector<NameStatistics>& list, bool exact) {
  statistics_->clear();
  // A name's work is only in lanes of its kind, so it can fill at most all of these.
  std::size_t compute = 0, traffic = 0;
  for (const RankLanes& rank : model.ranks)
    compute += rank.compute.size(), traffic += rank.comm.size();
  const QString about = exact ? "" : "\u2248 ";
  for (const NameStatistics& s : list) {
    if (statistics_->topLevelItemCount() >= kMostRows) break;
    const Ink ink = static_cast<Ink>(s.category);
    auto* item = add_table_row(
        statistics_,
        {q(model.experiment->program.names[NameId{s.name}]), ink_word(ink),
         q(format_count(static_cast<std::int64_t>(s.count))), q(format_duration(s.sum)),
         q(format_duration(s.self)), q(format_duration(s.average())),
         q(format_duration(s.shortest)), about + q(format_duration(s.median)),
         about + q(format_duration(s.p95)), q(format_duration(s.longest)),
         q(format_percent(share_of_range(s.sum, range.from, range.to,
                                         ink == Ink::Communication ? traffic : compute)))});
    item->setIcon(0, swatch_icon(ink));
  }
}

void BottomPanel::refresh_problems() {
  problems_->clear();
  const Outcome& outcome = session_.outcome();
  const auto add = [&](const QString& what, const QString& where, const QString& fix,
                       Diagnostic::Severity severity) {
    auto* item = add_table_row(problems_, {what, where, fix});
    const bool error = severity == Diagnostic::Severity::Error;
    const bool warning = severity == Diagnostic::Severity::Warning;
    item->setIcon(0, icon(error     ? "error"
                          : warning ? "warning"
                                    : "info",
                          qcolor(error     ? Ink::Error
                                 : warning ? Ink::Warn
                                           : Ink::Text2,
                                 current_theme())));
    item->setToolTip(0, what);
    return item;
  };
  for (const Diagnostic& d : outcome.diagnostics) {
    QStringList where;
    for (const std::string& key : settings_at(d.place.text)) where << setting_title(key);
    const bool change = q(d.fix).contains('=');
    auto* item = add(fault_sentence(d.place.text, d.message),
                     where.isEmpty() ? q(d.place.text) : where.join(", "),
                     change ? "Set " + change_name(d.fix) : q(d.fix), d.severity);
    item->setData(2, Qt::UserRole, change ? q(d.fix) : QString());
  }
  if (!outcome.error.empty() && outcome.diagnostics.empty())
    add(outcome.problem.sentence, "", "", Diagnostic::Severity::Error);
  if (session_.experiment() && outcome.error.empty()) {
    const Verdict& verdict = session_.experiment()->result.verdict;
    if (!verdict.fits) add(q(verdict.sentence), "verdict", "", Diagnostic::Severity::Error);
    for (const Fix& fix : verdict.fixes) {
      auto* item =
          add(q(fix.sentence), "", "Apply " + change_name(fix.set), Diagnostic::Severity::Note);
      item->setData(2, Qt::UserRole, q(fix.set));
    }
    for (const FiredRule& rule : session_.experiment()->result.rules) {
      auto* item = add(q(rule.sentence), q(rule.rule), "Try " + q(rule.advice),
                       Diagnostic::Severity::Warning);
      if (rule.at) item->setData(1, Qt::UserRole, static_cast<qlonglong>(rule.at->count()));
    }
    for (const std::string& sentence : session_.experiment()->workload.scenario.model.assumed)
      add(q(sentence), "model", "", Diagnostic::Severity::Note);
    for (const std::string& sentence :
         table_sentences(session_.experiment()->workload.scenario.model))
      add(q(sentence), "tables", "", Diagnostic::Severity::Note);
  }
  for (const FiredRule& rule : run_rules_)
    add(q(rule.sentence), "run: " + q(rule.rule), "Try " + q(rule.advice),
        Diagnostic::Severity::Warning)
        ->setData(1, kOfRun, true);
  const int count = problems_->topLevelItemCount();
  tabs_->setTabText(1, count == 0 ? "Problems" : QString("Problems   %1").arg(count));
}

void BottomPanel::refresh_alive() {
  tabs_->setTabText(kAlive, fill_alive(alive_, session_, exploration_));
}

void BottomPanel::refresh_readings() {
  if (tabs_->currentIndex() == kAlive) refresh_alive();
  if (tabs_->currentIndex() == kWaves) tabs_->setTabText(kWaves, fill_waves(waves_, session_));
}

}  // namespace trainyard
