"""OpenCV: images of bytes."""

import cv2
import numpy as np

from inputs import Unsupported


def version():
    return f"OpenCV {cv2.__version__}"


def set_threads(threads):
    cv2.setNumThreads(threads)


def erosion(inputs, _):
    image = inputs["I"].array.astype(np.uint8)
    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    return lambda: cv2.erode(image, cross, borderType=cv2.BORDER_CONSTANT, borderValue=0)


def histogram(inputs, _):
    image = inputs["I"].array
    return lambda: cv2.calcHist([image], [0], None, [256], [0, 256]).reshape(-1)


def erosion_2(inputs, _):
    image, square = inputs["I"].array.astype(np.uint8), np.ones((3, 3), np.uint8)
    return lambda: cv2.erode(image, square, iterations=2)


def masked_histogram(inputs, _):
    image, mask = inputs["I"].array, inputs["M"].array.astype(np.uint8)
    return lambda: cv2.calcHist([image], [0], mask, [16], [0, 256]).reshape(-1)


def edge(inputs, parameters):
    if not inputs["I"].dense:
        raise Unsupported("the image is sparse")
    image, mask = inputs["I"].array, inputs["M"].array.astype(np.uint8)

    def run():
        _, low = cv2.threshold(image, parameters["low"], 1, cv2.THRESH_BINARY)
        _, high = cv2.threshold(image, parameters["high"], 1, cv2.THRESH_BINARY)
        return cv2.bitwise_and(cv2.bitwise_xor(low, high), mask)

    return run


OPERATIONS = {f.__name__: f for f in [erosion, histogram, erosion_2, masked_histogram, edge]}
