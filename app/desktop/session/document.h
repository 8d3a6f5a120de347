// The Document is the project open in a window: it is changed only by commands that can be undone,
// and saved atomically. What is merely viewed (which plan, which perspective) is stored with it but
// never undone.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <QUndoStack>

#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/project.h"

namespace trainyard {

class Document : public QObject {
  Q_OBJECT

 public:
  explicit Document(QObject* parent = nullptr);

  const Project& project() const { return project_; }
  const ProjectPlan* plan() const;  // the current plan; null if there is none
  QUndoStack& undo_stack() { return undo_; }
  const QString& path() const { return path_; }
  QString title() const;  // file name, or "untitled"
  bool modified() const { return !undo_.isClean(); }
  /// Returns whether a newer Trainyard wrote the file; save() then needs another path.
  bool read_only() const { return newer_.newer && path_ == guarded_; }
  /// The parts of a newer file that are not understood; they are kept.
  const std::vector<std::string>& unknown() const { return newer_.unknown; }

  /// Replaces the project as one undo step. Consecutive steps with the same key are merged.
  void change(const QString& text, Project after, const QString& merge_key = {});
  void set_model(const QString&);
  void set_cluster(const QString&);
  void set_setting(const QString& key, const QString& value);
  /// Applies several "key=value" as one step; consecutive steps with the same key are merged as in
  /// change().
  void apply(const QString& text, const QStringList& assignments, const QString& merge_key = {});
  void use_plan_file(const QString&);
  /// Sets measured prices, as one document (core/io/documents/measured_prices.h); empty: the
  /// workbench's own.
  void set_calibration(const std::string& word);
  void duplicate_plan();
  void rename_plan(const QString&);
  void remove_plan();

  // The following are not undone.
  void show_plan(int index);
  /// Shows one of kPerspectiveNames, or a name that shown_part() knows; tab: of that perspective,
  /// empty for the one it shows.
  void show_perspective(const QString&, const QString& tab = {});
  void show_tab(const QString&);  // of the current perspective
  void set_automatic(bool);

  void clear();
  /// Throws Error{Io} or Error{InvalidInput} and then leaves the document unchanged.
  void load(const QString& path);
  /// Writes a temporary file and renames it, so that a reader sees either the old or the new
  /// project. Throws Error{Io}, and Error{InvalidInput} for the path of a newer file.
  void save(const QString& path);

 Q_SIGNALS:
  void changed();        // a command changed the project
  void marks_changed();  // only marks changed, so that results stay valid
  void view_changed();   // what is viewed changed
  void renamed();        // path or modified() changed

 private:
  friend class ProjectCommand;
  void put(const Project& content);
  Project project_;
  QString path_;
  QUndoStack undo_;
  ProjectFile newer_;  // the file it was opened from, if newer
  QString guarded_;    // the path of that file
};

/// The request for a plan of the project, with its calibration.
Request request_of(const Project&, const ProjectPlan&);
/// A plan's name and its first settings: "A   1f1b TP 4 PP 8".
QString plan_title(const ProjectPlan&);

/// The files opened last, newest first, at most ten; stored in the user's settings.
QStringList recent_files();
void remember_file(const QString& path);

}  // namespace trainyard
