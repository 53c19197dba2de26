// Package pkitest makes clusters' authorities and daemons' certificates for tests.
package pkitest
