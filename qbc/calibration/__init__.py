"""Calibration data sets: sample sources that feed `quant-collect`."""

from qbc.calibration.inputs import InputSpec, fit_array
from qbc.calibration.preprocessing import Preprocessing, make_preprocessing
from qbc.calibration.sources import ArraySamples, FileSamples, RandomSamples, open_samples
from qbc.calibration.statistics_file import StatisticsFile

__all__ = [
    "ArraySamples",
    "FileSamples",
    "InputSpec",
    "Preprocessing",
    "RandomSamples",
    "StatisticsFile",
    "fit_array",
    "make_preprocessing",
    "open_samples",
]
