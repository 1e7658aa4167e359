-- factor_class(class, differs, entailed): the class of one difference: 'entailed' where SGLang makes it because of the treatment.
CREATE OR REPLACE MACRO factor_class(listed, differs, is_entailed) AS
    CASE WHEN differs AND is_entailed AND listed NOT IN ('treatment', 'noise') THEN 'entailed' ELSE listed END;
