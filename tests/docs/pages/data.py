"""Adult must be fetched; breast-cancer comes with scikit-learn."""


def prepare(place):
    place.replace['"adult"'] = '"breast-cancer"'
