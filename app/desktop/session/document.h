// The Document is the project that a window has open: changed only by commands that can be undone,
// saved atomically. What is merely looked at (which plan, which perspective) is kept with it but
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
  const ProjectPlan* plan() const;  // the current one, null where there is none
  QUndoStack& undo_stack() { return undo_; }
  const QString& path() const { return path_; }
  QString title() const;  // file name, or "untitled"
  bool modified() const { return !undo_.isClean(); }
  /// A newer Trainyard wrote the file: save() wants another path.
  bool read_only() const { return newer_.newer && path_ == guarded_; }
  /// What of a newer file is not understood; it is kept.
  const std::vector<std::string>& unknown() const { return newer_.unknown; }

  /// Puts `after` in place as one step of undo. Steps with the same key that follow each other
  /// become one.
  void change(const QString& text, Project after, const QString& merge_key = {});
  void set_model(const QString&);
  void set_cluster(const QString&);
  void set_setting(const QString& key, const QString& value);
  /// Several "key=value" as one step; steps with the same key as in change().
  void apply(const QString& text, const QStringList& assignments, const QString& merge_key = {});
  void use_plan_file(const QString&);
  /// Measured prices as one document (core/io/documents/measured_prices.h); empty: the workbench's
  /// own again.
  void set_calibration(const std::string& word);
  void duplicate_plan();
  void rename_plan(const QString&);
  void remove_plan();

  // Not undone.
  void show_plan(int index);
  /// One of kPerspectiveNames, or a name that shown_part() knows; tab: of that perspective, empty
  /// for whichever it shows.
  void show_perspective(const QString&, const QString& tab = {});
  void show_tab(const QString&);  // of the perspective that is shown
  void set_automatic(bool);

  void clear();
  /// Throws Error{Io} or Error{InvalidInput}; the document is then what it was.
  void load(const QString& path);
  /// Writes a file beside it and renames it over: a reader sees the old project or the new one.
  /// Throws Error{Io}; Error{InvalidInput} for the path of a newer file.
  void save(const QString& path);

 Q_SIGNALS:
  void changed();        // the project, by a command
  void marks_changed();  // nothing but marks, so that no result is out of date
  void view_changed();   // what is looked at
  void renamed();        // path or modified

 private:
  friend class ProjectCommand;
  void put(const Project& content);
  Project project_;
  QString path_;
  QUndoStack undo_;
  ProjectFile newer_;  // where it was opened from, if that was newer
  QString guarded_;    // that file
};

/// What the project asks of a plan, with its calibration.
Request request_of(const Project&, const ProjectPlan&);
/// "A   1f1b TP 4 PP 8": a plan's name and what it sets first.
QString plan_title(const ProjectPlan&);

/// The files opened last, newest first, at most ten; kept in the settings of the person.
QStringList recent_files();
void remember_file(const QString& path);

}  // namespace trainyard
