import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../src/logos/fetch-picture.ts';

describe('isPublicAddress', () => {
  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '93.184.216.34',
    '172.15.0.1',
    '172.32.0.1',
    '192.167.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '223.255.255.254',
    '2606:4700:4700::1111',
    '2a00:1450:4001:81b::200e',
    '64:ff9b::808:808', // NAT64 of 8.8.8.8
  ])('%s is', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    ['0.0.0.0', 'this host'],
    ['0.1.2.3', 'this network'],
    ['10.0.0.1', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'the metadata of a cloud'],
    ['168.63.129.16', "Azure's platform"],
    ['100.64.0.1', 'shared by a carrier'],
    ['100.100.100.200', 'the metadata of another cloud'],
    ['192.0.0.192', 'protocol assignments'],
    ['192.0.2.1', 'documentation'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['198.18.0.1', 'benchmarking'],
    ['192.88.99.1', '6to4 relay'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.250', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::127.0.0.1', 'IPv4-compatible'],
    ['::ffff:127.0.0.1', 'IPv4-mapped'],
    ['::ffff:7f00:1', 'IPv4-mapped'],
    ['::ffff:8.8.8.8', 'IPv4-mapped, though public'],
    ['::ffff:0:127.0.0.1', 'IPv4-translated'],
    ['64:ff9b::7f00:1', 'NAT64 of 127.0.0.1'],
    ['64:ff9b::a9fe:a9fe', 'NAT64 of 169.254.169.254'],
    ['64:ff9b:1::7f00:1', 'NAT64 of a network of its own'],
    ['2002:7f00:1::', '6to4 of 127.0.0.1'],
    ['2002:808:808::', '6to4'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'Teredo'],
    ['2001:db8::1', 'documentation'],
    ['3fff::1', 'documentation'],
    ['100::1', 'discard'],
    ['fc00::1', 'unique local'],
    ['fd00:ec2::254', 'the metadata of a cloud'],
    ['fe80::1', 'link local'],
    ['fe80::1%eth0', 'link local'],
    ['fec0::1', 'site local'],
    ['ff02::1', 'multicast'],
    ['4000::1', 'not given out'],
    ['5f00::1', 'segment routing'],
  ])('%s is not: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['', 'localhost', '127.1', '0177.0.0.1', '0x7f.1', '2130706433', '8.8.8.8 ', '[::1]'])(
    "'%s' is no address, and not public",
    (address) => {
      expect(isPublicAddress(address)).toBe(false);
    },
  );
});
