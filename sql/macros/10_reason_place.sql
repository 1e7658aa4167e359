-- reason_place(does, class): where a reason stands: what makes a pair unfair before what leaves it unproven, then by class.
CREATE OR REPLACE MACRO reason_place(does, judged) AS
    CASE does WHEN 'unfair' THEN 0 WHEN 'unproven' THEN 10 ELSE 20 END
    + coalesce(
        list_position(['environment', 'server', 'software', 'workload', 'measurement', 'unclassified'], judged), 9
    );
