from .folder import MeasurementTables as MeasurementTables, MeasurementRecord as MeasurementRecord
from .folder import read_measurement as read_measurement, write_measurement as write_measurement
from .in_python import Measuring as Measuring, measuring as measuring
