# The longest tests of a release, each with its seconds on two cores at 2.6 GHz: ctest starts them first, so that no core
# waits for one of them at the end. Beside each stands what it finds that a tenth of it would not; a test whose line has
# nothing to say is cut to the tenth, and what measures time is a benchmark. Read by ctest after all tests are known.
set(longest
  look.scale_2                  6  # a screen cut off or blurred at one scale only
  look.scale_1.5                5  # the same
  look.scale_1.25               5  # the same
  Look.TabLeavesEveryCanvas     5  # the one canvas of all that keeps the keyboard
  Look.EveryScreenIsWholeNamedAndSharp 5  # the one screen of all, in either theme, whose text is cut
  Program.EveryExampleOfTheHelpRuns    15  # the one example that no longer runs
  Program.EveryRecipeRuns       18  # the same of the recipes
  TrainedModels.EqualAccuracyHidesInstabilityWhichFineTuningTakesAway 10  # what training on changes, which takes its steps
  TrainedModels.FineTuningUnderRoundedWeightsTakesFlipsOfFourBitsAway 12  # the same
  TrainedModels.PruningLosesMoreOnNoiseThanOnCleanSamples 10  # the same
  EveryPlan.ThatIsAcceptedTrainsAsOneDevice 6  # of 250 plans, the pair of methods that nobody tried together
  house.format                  6  # the one file that is not laid out
  Fidelity.GrainsAgreeToTheByteOnWhatBothKnow 6  # of 2000 scenarios, the pair of methods that nobody tried together
  PlanOnRanks.ARankThatCannotBeginIsNamed 5  # three starts of mpirun, each of one kind of failure
  PlanOnRanks.WhatOneOfThemCannotDoEndsAll 3  # the same
  PlanOnRanks.NothingFitsOnAll  2  # the same
  ExportedPrograms.ATrainedConvolutionalNetworkLosesLessThanAPoint 9  # a point of accuracy, which takes a trained network and 2000 answers
  ExportedPrograms.ATrainedPerceptronLosesLessThanAPoint 6  # the same
  SparseTraining.AWiderSparsePerceptronIsAsGoodAsTheDenseOne 13  # what sparse weights learn, which takes its steps
  LessonRun.ARealRunDivergesOrNotAsTheLessonSays 4  # that a real training diverges, which takes its steps
  LearnPage.ARunOfALessonIsTrainedInTheWindow 2  # the same in the window
  TensorTrainRun.AHundredTimesSmallerTableLosesNoQuality 5  # that cores learn less than the table, at the size where they are small
  Flip.HoldsOnBothSidesOfRandomPairs 3  # of 60 pairs of plans, a flip that is none: 8 had no seed with three levers
  PlanPricer.HasEveryPlanOfTheSpaceOnceInOrder 3  # a plan missing at the end of a whole space
  PlanPricer.ForbidsWhatCheckForbidsByOneOfItsReasons 2  # the one reason of all that the quick check leaves out
  PlanPricer.MemoryIsTheClosedFormsOwn 2  # rounding apart in one of thousands of plans
  PlanPricer.NoPlanUndercutsItsBound 2  # the same of the bound
  Window.BothThemesDrawDifferentPictures 3  # the one colour that is written instead of asked for
  Sensitivity.EveryValueIsTheEstimateOfItsScenario 2  # the one knob of all whose words say another scenario
)
# Under sanitizers a folder's tests are a few processes.
foreach(folder planners workspace backends validation lowering)
  foreach(share RANGE 1 4)
    list(APPEND longest ${folder}.${share}_of_4 20)
  endforeach()
endforeach()
list(LENGTH longest count)
math(EXPR last "${count} - 1")
foreach(i RANGE 0 ${last} 2)
  math(EXPR next "${i} + 1")
  list(GET longest ${i} test)
  list(GET longest ${next} seconds)
  set_tests_properties(${test} PROPERTIES COST ${seconds})
endforeach()
