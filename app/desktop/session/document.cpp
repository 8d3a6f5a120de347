#include "app/desktop/session/document.h"

#include <QFileInfo>
#include <QSettings>
#include <QUndoCommand>

#include <utility>

#include "app/desktop/session/first_plan.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"

namespace trainyard {

/// Stores the project before and after. Projects are small, so a step keeps both whole, which
/// cannot miss a change.
class ProjectCommand : public QUndoCommand {
 public:
  ProjectCommand(Document& document, const QString& text, Project after, QString key)
      : QUndoCommand(text),
        document_(document),
        before_(document.project()),
        after_(std::move(after)),
        key_(std::move(key)) {}

  void undo() override { document_.put(before_); }
  void redo() override { document_.put(after_); }
  int id() const override { return key_.isEmpty() ? -1 : 1; }
  bool mergeWith(const QUndoCommand* next) override {
    const auto* other = static_cast<const ProjectCommand*>(next);
    if (other->key_ != key_) return false;
    after_ = other->after_;
    return true;
  }

 private:
  Document& document_;
  Project before_, after_;
  QString key_;
};

namespace {

constexpr int kRecent = 10;

QString next_name(const Project& project) {
  for (char letter = 'A'; letter <= 'Z'; ++letter) {
    const std::string name(1, letter);
    bool taken = false;
    for (const ProjectPlan& plan : project.plans) taken = taken || plan.name == name;
    if (!taken) return QString::fromStdString(name);
  }
  return QString("plan %1").arg(project.plans.size() + 1);
}

// Choosing the first model or cluster adds the first plan, so that three actions lead to a picture.
Project with_a_plan(Project project) {
  if (project.plans.empty()) project.plans.push_back({"A", "", {}});
  return project;
}

}  // namespace

Document::Document(QObject* parent) : QObject(parent) {
  connect(&undo_, &QUndoStack::cleanChanged, this, &Document::renamed);
}

const ProjectPlan* Document::plan() const {
  const auto index = static_cast<std::size_t>(project_.current);
  return index < project_.plans.size() ? &project_.plans[index] : nullptr;
}

QString Document::title() const {
  return path_.isEmpty() ? QString("untitled") : QFileInfo(path_).fileName();
}

void Document::change(const QString& text, Project after, const QString& merge_key) {
  if (after == project_) return;
  undo_.push(new ProjectCommand(*this, text, std::move(after), merge_key));
}

void Document::put(const Project& content) {
  Project next = content;
  next.perspective = project_.perspective;
  next.tab = project_.tab;
  next.automatic = project_.automatic;
  const bool marks_only = same_but_marks(next, project_);
  project_ = std::move(next);
  if (marks_only) return Q_EMIT marks_changed();
  Q_EMIT changed();
}

void Document::set_model(const QString& model) {
  Project after = with_a_plan(project_);
  after.model = model.toStdString();
  if (after.cluster.empty()) after.cluster = "h100-sxm:8";
  change("Choose model", with_first_plans_following(project_, std::move(after)));
}

void Document::set_cluster(const QString& cluster) {
  Project after = with_a_plan(project_);
  after.cluster = cluster.toStdString();
  change("Change cluster", with_first_plans_following(project_, std::move(after)), "cluster");
}

void Document::set_setting(const QString& key, const QString& value) {
  if (plan() == nullptr) return;
  change(QString("Set %1").arg(key),
         with_setting(project_, project_.current, key.toStdString(), value.toStdString()),
         QString("setting %1 %2").arg(project_.current).arg(key));
}

void Document::apply(const QString& text, const QStringList& assignments,
                     const QString& merge_key) {
  if (plan() == nullptr) return;
  Project after = project_;
  for (const QString& assignment : assignments) {
    const qsizetype equals = assignment.indexOf('=');
    after = with_setting(std::move(after), after.current, assignment.left(equals).toStdString(),
                         assignment.mid(equals + 1).toStdString());
  }
  change(text, std::move(after), merge_key);
}

void Document::use_plan_file(const QString& file) {
  Project after = project_;
  after.plans.push_back({next_name(after).toStdString(), file.toStdString(), {}});
  after.current = static_cast<int>(after.plans.size()) - 1;
  change("Add plan", std::move(after));
}

void Document::set_calibration(const std::string& word) {
  Project after = project_;
  after.calibration = word;
  change(word.empty() ? "Remove calibration" : "Accept calibration", std::move(after));
}

void Document::duplicate_plan() {
  if (plan() == nullptr) return;
  Project after = project_;
  ProjectPlan copy = *plan();
  copy.name = next_name(after).toStdString();
  after.plans.push_back(std::move(copy));
  after.current = static_cast<int>(after.plans.size()) - 1;
  change("Duplicate plan", std::move(after));
}

void Document::rename_plan(const QString& name) {
  if (plan() == nullptr || name.trimmed().isEmpty()) return;
  Project after = project_;
  after.plans[static_cast<std::size_t>(after.current)].name = name.trimmed().toStdString();
  change("Rename plan", std::move(after));
}

void Document::remove_plan() {
  if (project_.plans.size() < 2) return;
  Project after = project_;
  after.plans.erase(after.plans.begin() + after.current);
  after.current = std::min(after.current, static_cast<int>(after.plans.size()) - 1);
  change("Remove plan", std::move(after));
}

void Document::show_plan(int index) {
  if (index < 0 || index >= static_cast<int>(project_.plans.size()) || index == project_.current)
    return;
  project_.current = index;
  Q_EMIT view_changed();
}

void Document::show_perspective(const QString& name, const QString& tab) {
  const ShownPart part = shown_part(name.toStdString());
  const std::string wanted = tab.isEmpty() ? part.tab : tab.toStdString();
  if (project_.perspective == part.perspective && (wanted.empty() || project_.tab == wanted))
    return;
  project_.perspective = part.perspective;
  project_.tab = wanted;
  Q_EMIT view_changed();
}

void Document::show_tab(const QString& name) {
  if (project_.tab == name.toStdString()) return;
  project_.tab = name.toStdString();
  Q_EMIT view_changed();
}

void Document::set_automatic(bool on) {
  if (project_.automatic == on) return;
  project_.automatic = on;
  Q_EMIT view_changed();
}

void Document::clear() {
  undo_.clear();
  newer_ = {};
  guarded_.clear();
  path_.clear();
  project_ = Project{};
  Q_EMIT changed();
  Q_EMIT renamed();
}

void Document::load(const QString& path) {
  const std::string file = path.toStdString();
  ProjectFile found = read_project(read_file(file), file);
  project_ = found.project;
  guarded_ = found.newer ? path : QString();
  newer_ = found.newer ? std::move(found) : ProjectFile{};
  undo_.clear();
  path_ = path;
  remember_file(path);
  Q_EMIT changed();
  Q_EMIT renamed();
}

void Document::save(const QString& path) {
  if (newer_.newer && QFileInfo(path) == QFileInfo(guarded_))
    throw Error(Error::Kind::InvalidInput,
                "a newer Trainyard wrote this file; expected another name, which keeps what is not "
                "understood here",
                {path.toStdString()});
  write_file_atomically(path.toStdString(), newer_.newer
                                                ? project_document(project_, newer_.original)
                                                : project_document(project_));
  path_ = path;
  undo_.setClean();
  remember_file(path);
  Q_EMIT renamed();
}

Request request_of(const Project& project, const ProjectPlan& plan) {
  return {project.model, project.cluster, plan.file, plan.settings, project.calibration};
}

QString plan_title(const ProjectPlan& plan) {
  QStringList words;
  if (!plan.file.empty()) words << QFileInfo(QString::fromStdString(plan.file)).completeBaseName();
  const std::pair<const char*, const char*> shown[] = {
      {"schedule", ""}, {"tp", "TP "}, {"cp", "CP "}, {"pp", "PP "}, {"zero", "ZeRO "}};
  for (const auto& [key, title] : shown)
    if (const std::string value = own_setting(plan, key); !value.empty())
      words << title + QString::fromStdString(value);
  return QString::fromStdString(plan.name) + (words.isEmpty() ? "" : "   " + words.join(' '));
}

QStringList recent_files() { return QSettings().value("recent").toStringList(); }

void remember_file(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  QStringList files = recent_files();
  files.removeAll(absolute);
  files.prepend(absolute);
  QSettings().setValue("recent", QStringList(files.mid(0, kRecent)));
}

}  // namespace trainyard
