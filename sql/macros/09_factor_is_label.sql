-- factor_is_label(value): whether a value is a label that somebody vouched with ('machine LABEL', 'workload LABEL'; see factor_value).
CREATE OR REPLACE MACRO factor_is_label(told) AS starts_with(told, 'machine ') OR starts_with(told, 'workload ');
