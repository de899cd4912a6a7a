// SPDX-License-Identifier: Apache-2.0
// axios, by the environment.
import axios from 'axios';
import { printAll } from './at_once.mjs';

await printAll(async (url) => (await axios.get(url)).data);
