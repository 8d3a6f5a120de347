#include "app/desktop/shell/project_panel.h"

#include <QDir>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/swatch.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "core/io/json/inline_document.h"
#include "core/lesson/lesson_text.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

struct Share {
  const char* name;
  Ink ink;
  Duration (*of)(const Breakdown&);
};
constexpr Share kShares[] = {
    {"Forward", Ink::Forward, [](const Breakdown& b) { return b.forward; }},
    {"Backward", Ink::Backward, [](const Breakdown& b) { return b.backward; }},
    {"Recompute", Ink::Recompute, [](const Breakdown& b) { return b.recompute; }},
    {"Exposed comm", Ink::Communication,
     [](const Breakdown& b) { return b.exposed_communication(); }},
    {"Optimizer", Ink::Optimizer, [](const Breakdown& b) { return b.optimizer; }},
    {"Bubble", Ink::Idle, [](const Breakdown& b) { return b.bubble + b.slower; }},
    // The host does the work of the allocator. A longer name would leave the outline too little
    // room in a small window.
    {"Host and input", Ink::Swap,
     [](const Breakdown& b) { return b.host + b.allocator + b.input; }},
};

QString short_name(const std::string& word) {
  const QString text = QString::fromStdString(word);
  if (is_inline_document(word)) return QString::fromStdString(word_title(word));
  // A device with options may have a rate in them, as nvme-read=20GB/s, and is no path.
  if (!text.contains('/') || text.section('/', 0, 0).contains(':')) return text;
  const QFileInfo file(text);
  return file.fileName() == "config.json" ? file.absoluteDir().dirName() : file.fileName();
}

QString key_of(const Project& project, const ProjectPlan& plan) {
  QString key = QString::fromStdString(project.model + '\n' + project.cluster + '\n' + plan.file);
  for (const std::string& s : plan.settings) key += '\n' + QString::fromStdString(s);
  return key;
}

constexpr std::size_t kLatestRuns = 5;
constexpr int kNumber = Qt::UserRole, kKind = Qt::UserRole + 1;  // data roles of an item

void set_kind(QTreeWidgetItem* item, int kind, int number) {
  item->setData(0, kKind, kind);
  item->setData(0, kNumber, number);
}

// Returns none of the kinds for a group.
int kind_of(const QTreeWidgetItem* item) {
  const QVariant kind = item->data(0, kKind);
  return kind.isValid() ? kind.toInt() : -1;
}

}  // namespace

ProjectPanel::ProjectPanel(Document& document, Session& session, RunList& runs, QWidget* parent)
    : QWidget(parent), document_(document), session_(session), runs_(runs), tree_(new QTreeWidget) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 4, 0, 8);
  column->setSpacing(0);
  tree_->setHeaderHidden(true);
  tree_->setColumnCount(2);
  tree_->header()->setStretchLastSection(false);
  tree_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  tree_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  tree_->setIndentation(14);
  tree_->setAccessibleName("Project");
  tree_->setTabKeyNavigation(false);
  tree_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  column->addWidget(tree_, 1);
  auto* bar = new Header("Step by kind");
  bar->setAccessibleName("Step by kind, mean over the ranks");
  column->addWidget(bar);
  column->addSpacing(6);
  for (const Share& kind : kShares) {
    auto* line = new QHBoxLayout;
    line->setContentsMargins(12, 0, 12, 0);
    line->setSpacing(8);
    line->addWidget(new Swatch(kind.ink));
    line->addWidget(make_label(kind.name, 12, QFont::Normal));
    line->addStretch(1);
    shares_ << make_label("", 12, QFont::Normal, "second");
    line->addWidget(shares_.last());
    column->addLayout(line);
    column->addSpacing(5);
  }
  connect(tree_, &QTreeWidget::itemSelectionChanged, this, [this] {
    const auto chosen = tree_->selectedItems();
    if (!chosen.isEmpty() && kind_of(chosen[0]) == static_cast<int>(Kind::Plan))
      document_.show_plan(chosen[0]->data(0, kNumber).toInt());
  });
  connect(tree_, &QTreeWidget::itemActivated, this, &ProjectPanel::choose);
  const auto remember = [this](bool open) {
    return [this, open](const QTreeWidgetItem* item) { open_[item->text(0)] = open; };
  };
  connect(tree_, &QTreeWidget::itemExpanded, this, remember(true));
  connect(tree_, &QTreeWidget::itemCollapsed, this, remember(false));
  // Deferred until the window is shown, because the list reads a file.
  connect(&runs_, &RunList::changed, this, &ProjectPanel::refresh_runs, Qt::QueuedConnection);
  connect(&document_, &Document::marks_changed, this, &ProjectPanel::refresh);
  connect(&document_, &Document::changed, this, &ProjectPanel::refresh);
  connect(&document_, &Document::view_changed, this, &ProjectPanel::refresh);
  connect(&session_, &Session::experiment_changed, this, [this] {
    remember_result();
    refresh();
    refresh_categories();
  });
  refresh();
  refresh_categories();
}

void ProjectPanel::remember_result() {
  if (document_.plan() == nullptr || session_.stale()) return;
  const QString key = key_of(document_.project(), *document_.plan());
  if (session_.outcome().experiment)
    readings_[key] =
        QString::fromStdString(format_step_time(session_.experiment()->result.step.value)) +
        (session_.experiment()->result.verdict.fits ? "" : QString::fromUtf8("  !"));
}

QTreeWidgetItem* ProjectPanel::group(const QString& name, bool open) {
  auto* item = new QTreeWidgetItem(tree_, {name});
  item->setFont(0, ui_font(12, QFont::Medium));
  item->setSizeHint(0, QSize(0, kTreeRow));
  item->setFlags(Qt::ItemIsEnabled);
  item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
  item->setForeground(1, qcolor(Ink::Text2, current_theme()));
  item->setExpanded(open_.value(name, open));
  return item;
}

QTreeWidgetItem* ProjectPanel::add(QTreeWidgetItem* parent, const QString& name,
                                   const QString& reading, const QString& sign) {
  const QColor pale = qcolor(Ink::Text2, current_theme());
  auto* item = new QTreeWidgetItem(parent, {name, reading});
  item->setIcon(0, icon(sign, pale));
  item->setForeground(1, pale);
  item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
  item->setSizeHint(0, QSize(0, kTreeRow));
  item->setToolTip(0, name);
  return item;
}

void ProjectPanel::refresh() {
  const QSignalBlocker quiet(tree_);
  tree_->clear();
  const Project& project = document_.project();
  const bool known = session_.experiment() && !session_.stale();
  auto* models = group("Models");
  if (!project.model.empty())
    add(models, short_name(project.model),
        known ? QString::fromStdString(
                    format_large(static_cast<double>(session_.experiment()->result.parameters)))
              : "",
        "model");
  auto* clusters = group("Clusters");
  if (!project.cluster.empty()) add(clusters, short_name(project.cluster), "", "cluster");
  add_plans();
  add_marks();
  add_runs();
  add_lessons();
}

void ProjectPanel::add_plans() {
  const Project& project = document_.project();
  auto* plans = group("Plans");
  for (std::size_t i = 0; i < project.plans.size(); ++i) {
    auto* item = add(plans, plan_title(project.plans[i]),
                     readings_.value(key_of(project, project.plans[i])), "plan");
    set_kind(item, static_cast<int>(Kind::Plan), static_cast<int>(i));
    if (static_cast<int>(i) == project.current) item->setSelected(true);
  }
}

// Adds the marks of the open plan.
void ProjectPanel::add_marks() {
  if (document_.plan() == nullptr || document_.plan()->marks.empty()) return;
  const std::vector<ProjectMark>& marks = document_.plan()->marks;
  auto* notes = group("Notes");
  notes->setText(1, QString::number(marks.size()));
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const QString at = QString::fromStdString(format_duration(Instant{marks[i].from}));
    const QString name = QString::fromStdString(marks[i].name);
    auto* item = add(notes, name.isEmpty() ? "mark" : name, at, "pin");
    set_kind(item, static_cast<int>(Kind::Mark), static_cast<int>(i));
  }
}

void ProjectPanel::refresh_runs() {
  latest_ = runs_.entries();
  if (latest_.size() > kLatestRuns) latest_.resize(kLatestRuns);
  refresh();
}

void ProjectPanel::add_runs() {
  if (latest_.empty()) return;
  auto* runs = group("Runs");
  for (const RunEntry& entry : latest_) {
    const QString step =
        entry.step ? QString::fromStdString(format_step_time(*entry.step)) : QString();
    auto* item = add(runs, QString("%1  %2").arg(entry.id).arg(entry.name.c_str()), step, "play");
    item->setToolTip(0, QString("Run %1 of %2, %3: beside the open plan.")
                            .arg(entry.id)
                            .arg(entry.name.c_str(), entry.started.c_str()));
    set_kind(item, static_cast<int>(Kind::Run), static_cast<int>(entry.id));
  }
}

void ProjectPanel::add_lessons() {
  auto* lessons = group("Lessons", false);
  lessons->setText(1, QString::number(shipped_lessons().size()));
  for (const Lesson& lesson : shipped_lessons()) {
    auto* item =
        add(lessons, QString("%1  %2").arg(lesson.number).arg(QString::fromStdString(lesson.title)),
            "", "file");
    item->setToolTip(0, QString::fromStdString(lesson.goal));
    set_kind(item, static_cast<int>(Kind::Lesson), lesson.number);
  }
}

void ProjectPanel::choose(QTreeWidgetItem* item) {
  // The following call may rebuild the tree, so the data is copied first.
  const int number = item->data(0, kNumber).toInt(), kind = kind_of(item);
  if (kind == static_cast<int>(Kind::Run)) Q_EMIT run_chosen(number);
  if (kind == static_cast<int>(Kind::Lesson)) Q_EMIT lesson_chosen(number);
  if (kind == static_cast<int>(Kind::Mark)) {
    const ProjectMark mark = document_.plan()->marks[static_cast<std::size_t>(number)];
    Q_EMIT mark_chosen(mark);
  }
}

void ProjectPanel::refresh_categories() {
  const bool known = session_.experiment() != nullptr;
  for (int i = 0; i < shares_.size(); ++i) {
    if (!known) {
      shares_[i]->setText("");
      continue;
    }
    const Breakdown& all = session_.experiment()->result.device_time;
    shares_[i]->setText(QString::fromStdString(format_percent(share(all, kShares[i].of(all)))));
  }
}

}  // namespace trainyard
